internal import COpenSSL

/// A client of OCSP responders over HTTP (RFC 6960 appendix A.1), on OpenSSL's own client.
///
/// The client uses only plain HTTP, because answers are signed, and follows no redirect. The environment's
/// `http_proxy` and `no_proxy` apply.
package enum OCSPResponder {
    /// Returns the answer's bytes, without checks.
    ///
    /// The function blocks until the answer is complete or the deadline has passed (a name look-up may take longer):
    /// call it on a separate thread. The process must ignore SIGPIPE.
    package static func ask(_ question: OCSPQuestion, at address: String, deadlineSeconds: Int, answerBytesMax: Int)
        throws(OCSPError) -> [UInt8]
    {
        defer { ERR_clear_error() }
        let endpoint = try Endpoint(address)
        let answer = unsafe PEM.withReader(of: question.der) { request in
            unsafe OSSL_HTTP_transfer(
                nil, endpoint.host, endpoint.port, endpoint.path, 0, nil, nil, nil, nil, nil, nil, 0, nil,
                "application/ocsp-request", request, "application/ocsp-response", 1, answerBytesMax,
                Int32(clamping: deadlineSeconds), 0)
        }
        guard let reader = unsafe Handle<Resource.MemoryBuffer>(takingOwnershipOf: answer) else {
            throw OCSPError(.unanswered, reason)
        }
        return try unsafe content(of: reader.pointer, bytesMax: answerBytesMax)
    }

    private static func content(of reader: OpaquePointer, bytesMax: Int) throws(OCSPError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let read = unsafe bytes.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return unsafe BIO_read(reader, rest.baseAddress, Int32(clamping: rest.count))
            }
            guard read > 0 else { break }
            count += Int(read)
        }
        guard count > 0, count <= bytesMax else { throw OCSPError(.unanswered, "the answer is empty or too large") }
        return Array(bytes[..<count])
    }

    /// OpenSSL's last error, if its text is a constant.
    private static var reason: String {
        let error = ERR_peek_last_error()
        guard let text = unsafe ERR_reason_error_string(error) else { return "no answer within the deadline" }
        return unsafe String(cString: text)
    }

    /// The host, port and path of an address.
    private struct Endpoint {
        let host: String
        let port: String
        /// The path, with the query if the address has one.
        let path: String

        init(_ address: String) throws(OCSPError) {
            var host: UnsafeMutablePointer<CChar>?
            var port: UnsafeMutablePointer<CChar>?
            var path: UnsafeMutablePointer<CChar>?
            defer {
                unsafe CRYPTO_free(host, #file, #line)
                unsafe CRYPTO_free(port, #file, #line)
                unsafe CRYPTO_free(path, #file, #line)
            }
            let isParsed = unsafe OSSL_HTTP_parse_url(address, nil, nil, &host, &port, nil, &path, nil, nil)
            guard address.hasPrefix("http://"), isParsed == 1, let host = unsafe host, let port = unsafe port,
                let path = unsafe path
            else { throw OCSPError(.notAsked, "the responder's address is not an http address") }
            self.host = unsafe String(cString: host)
            self.port = unsafe String(cString: port)
            self.path = unsafe String(cString: path)
        }
    }
}

/// An OCSP request (RFC 6960 §4.1.1) for the revocation status of a certificate.
///
/// The request names the certificate by SHA-1 and contains no nonce, as RFC 5019 §2.1.1 requires: responders of large
/// authorities sign one answer for everybody in advance.
package struct OCSPQuestion: Sendable {
    package let der: [UInt8]

    package init(about certificate: Certificate, issuedBy issuer: Certificate) throws(OCSPError) {
        defer { ERR_clear_error() }
        let made = unsafe OCSP_REQUEST_new()
        guard let request = unsafe Handle<Resource.OCSPRequest>(takingOwnershipOf: made),
            let identifier = unsafe Self.identifier(of: certificate, issuedBy: issuer)
        else { throw OCSPError(.notAsked, "the certificates cannot be identified") }
        // The request owns the identifier after this call, unless the call fails.
        guard unsafe OCSP_request_add0_id(request.pointer, identifier) != nil else {
            unsafe OCSP_CERTID_free(identifier)
            throw OCSPError(.notAsked, "the certificates cannot be identified")
        }
        der = unsafe OctetBytes.encoded { unsafe i2d_OCSP_REQUEST(request.pointer, $0) }
        guard !der.isEmpty else { throw OCSPError(.notAsked, "the request cannot be written") }
    }

    /// Makes the identifier of a certificate, which the caller owns.
    static func identifier(of certificate: Certificate, issuedBy issuer: Certificate) -> OpaquePointer? {
        unsafe OCSP_cert_to_id(EVP_sha1(), certificate.outline.object.pointer, issuer.outline.object.pointer)
    }
}
