internal import CCurl

/// The server that a URL of nothing else names, as libcurl reads it.
package struct HTTPSAddress: Hashable, Sendable {
    /// In lower case; in square brackets if it is an IPv6 address.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// Reads `https://host` or `https://host:port`, with or without a slash behind.
    @safe
    package init?(url: String) {
        guard let parts = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(parts) }
        let part: (CURLUPart, UInt32) -> String? = { part, flags in
            var text: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(parts, part, &text, flags) == CURLUE_OK,
                let text = unsafe text
            else { return nil }
            defer { unsafe curl_free(text) }
            return unsafe String(cString: text)
        }
        let extra = [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT]
        guard unsafe curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK,
            part(CURLUPART_SCHEME, 0)?.utf8.elementsEqual("https".utf8) == true,
            part(CURLUPART_PATH, 0)?.utf8.elementsEqual("/".utf8) == true,
            extra.allSatisfy({ part($0, 0) == nil }),
            let host = part(CURLUPART_HOST, 0),
            let port = part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ UInt16($0) })
        else { return nil }
        self.init(host: host.utf8.lowercasedASCII, port: port)
    }

    package var url: String { port == 443 ? "https://\(host)" : "https://\(host):\(port)" }

    /// Whether only this machine can answer: libcurl asks no name server for `localhost`.
    package var isLoopback: Bool {
        let octets = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { UInt8(String(decoding: $0, as: UTF8.self)) }
        return host.utf8.elementsEqual("localhost".utf8) || host.utf8.elementsEqual("[::1]".utf8)
            || octets.count == 4 && octets[0] == 127 && octets.allSatisfy { $0 != nil }
    }
}
