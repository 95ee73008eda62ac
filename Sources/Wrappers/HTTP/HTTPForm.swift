import Platform

/// Decoding of forms and cookies.
package enum HTTPForm {
    /// The fields of a form, in order.
    ///
    /// The format is `application/x-www-form-urlencoded` as the URL standard of WHATWG (section 5.1) parses it: a plus
    /// is a space, an invalid percent sign remains unchanged, and invalid UTF-8 is replaced.
    package static func items(_ body: [UInt8]) -> [HTTPItem] {
        body.split(separator: UInt8(ascii: "&")).map { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return HTTPItem(decoded(name), decoded(pair.dropFirst(name.count + 1)))
        }
    }

    /// Encodes items as a query string for links, the inverse of `items`.
    package static func encoded(_ items: [HTTPItem]) -> String {
        items.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// The cookies of a request's `Cookie` field (RFC 6265, section 4.2); the first cookie of a name counts, which has
    /// the longer path.
    package static func cookies(_ header: String) -> [String: String] {
        let pairs = header.split(separator: ";").compactMap { pair -> (String, String)? in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            return (parts[0].filter { $0 != " " }, parts[1].filter { $0 != " " })
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "%"), index + 1 < text.endIndex,
                let value = UInt8(String(decoding: text[index...(index + 1)], as: UTF8.self), radix: 16),
                text[index] != UInt8(ascii: "+"), text[index] != UInt8(ascii: "-")
            {
                bytes.append(value)
                index += 2
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
