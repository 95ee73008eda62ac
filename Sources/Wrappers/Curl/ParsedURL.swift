internal import CCurl

/// A URL parsed by libcurl.
@safe struct ParsedURL: ~Copyable {
    private let handle: OpaquePointer

    /// Parses a URL.
    ///
    /// `nil` unless the URL has a scheme that libcurl knows, and a host.
    init?(_ text: String) {
        guard let handle = unsafe curl_url() else { return nil }
        guard unsafe curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK else {
            unsafe curl_url_cleanup(handle)
            return nil
        }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe curl_url_cleanup(handle) }

    /// Returns a part of the URL.
    ///
    /// `nil` if the URL does not have the part.
    func part(_ part: CURLUPart, defaultPort: Bool = false) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let flags = defaultPort ? UInt32(CURLU_DEFAULT_PORT) : 0
        guard unsafe curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }

    /// Whether the scheme is one of `schemes`, which are in lower case like libcurl's result.
    func hasScheme(_ schemes: StaticString...) -> Bool {
        guard let scheme = part(CURLUPART_SCHEME) else { return false }
        return schemes.contains { "\($0)".utf8.elementsEqual(scheme.utf8) }
    }
}
