internal import CCurl

/// The server that a URL without path, query or user names, as libcurl parses it.
package struct HTTPSAddress: Hashable, Sendable {
    /// The host in lower case; in square brackets if it is an IPv6 address.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// Reads `https://host` or `https://host:port`, with or without a slash at the end.
    package init?(url: String) {
        let extra = [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT]
        guard let parsed = ParsedURL(url), parsed.hasScheme("https"),
            parsed.part(CURLUPART_PATH)?.utf8.elementsEqual("/".utf8) == true,
            !extra.contains(where: { parsed.part($0) != nil }), let host = parsed.part(CURLUPART_HOST),
            let port = parsed.part(CURLUPART_PORT, defaultPort: true).flatMap({ UInt16($0) })
        else { return nil }
        self.init(host: host.utf8.lowercasedASCII, port: port)
    }

    package var url: String { port == 443 ? "https://\(host)" : "https://\(host):\(port)" }

    /// Whether only this machine can answer: libcurl asks no name server for `localhost`.
    package var isLoopback: Bool {
        let octets = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
            UInt8(String(decoding: $0, as: UTF8.self))
        }
        return host.utf8.elementsEqual("localhost".utf8) || host.utf8.elementsEqual("[::1]".utf8)
            || octets.count == 4 && octets[0] == 127 && octets.allSatisfy { $0 != nil }
    }
}
