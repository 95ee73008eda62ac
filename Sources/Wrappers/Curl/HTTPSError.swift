internal import CCurl

/// The reason why a request got no complete response.
///
/// Neither the code nor the message contains a header, a body, or any part of the URL except the host's name.
package struct HTTPSError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable {
        /// The URL, a header or an option cannot be used.
        case invalidRequest
        case hostNotFound
        case notConnected
        case certificateRefused
        /// The file of authorities cannot be read.
        case authorityUnreadable
        case tlsFailed
        /// The connection ended before the response was complete.
        case connectionLost
        /// The connection, the response or a part of it took too long.
        case timedOut
        /// The body or the headers exceed their bound.
        case responseTooLarge
        /// The response is not HTTP.
        case malformedResponse
        case cancelled
        /// Memory, threads or descriptors are used up.
        case systemLimit
    }

    package let code: Code
    /// The cause in the words of libcurl, OpenSSL or this client.
    package let message: String
}

extension HTTPSError: CustomStringConvertible {
    package var description: String { "HTTPS: \(message) (\(code.rawValue))" }
}

extension HTTPSError {
    /// - Parameter detail: the text in the handle's error buffer; it may quote the server if the response is
    ///   malformed.
    @safe init(_ result: CURLcode, detail: String) {
        code = Code(result)
        let isQuotable = code != .malformedResponse && !detail.isEmpty
        message = isQuotable ? detail : unsafe String(cString: curl_easy_strerror(result))
    }
}

extension HTTPSError.Code {
    init(_ result: CURLcode) {
        self =
            switch result {
            case CURLE_URL_MALFORMAT, CURLE_UNKNOWN_OPTION, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_NOT_BUILT_IN:
                .invalidRequest
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .hostNotFound
            case CURLE_COULDNT_CONNECT: .notConnected
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: .certificateRefused
            case CURLE_SSL_CACERT_BADFILE: .authorityUnreadable
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER: .tlsFailed
            case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR: .connectionLost
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_WRITE_ERROR, CURLE_FILESIZE_EXCEEDED: .responseTooLarge
            case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: .systemLimit
            default: .malformedResponse
            }
    }
}
