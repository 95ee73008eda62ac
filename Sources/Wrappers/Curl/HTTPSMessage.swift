/// A request over HTTPS.
package struct HTTPSRequest: Sendable {
    package enum Method: Sendable {
        case get
        case post([UInt8])
    }

    package var method: Method
    package var url: String
    package var headers: [HTTPSHeader]

    package init(_ method: Method, url: String, headers: [HTTPSHeader] = []) {
        self.method = method
        self.url = url
        self.headers = headers
    }
}

/// A header field, whose value may be a secret.
package struct HTTPSHeader: Sendable, Hashable, CustomStringConvertible {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The field as a line without its end; nil if it would be several lines or lose its value.
    var line: String? {
        let isPlain = (name + value).utf8.allSatisfy { 0x20..<0x7F ~= $0 }
        return isPlain && !value.isEmpty ? "\(name): \(value)" : nil
    }

    /// The name alone.
    package var description: String { name }
}

/// A response, whatever its status: redirects are not followed.
package struct HTTPSResponse: Sendable {
    package let status: Int
    /// The headers in the order in which they came, with names in lower case.
    package let headers: [HTTPSHeader]
    package let body: [UInt8]

    /// The first field's value.
    ///
    /// - Parameter name: in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name.utf8.elementsEqual(name.utf8) }?.value }
}

extension HTTPSHeader {
    /// A received line; nil if it is no header field.
    init?(line: some Collection<UInt8>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let value = line[line.index(after: colon)...].drop(while: isBlank)
        let blanks = value.reversed().prefix(while: isBlank).count
        self.init(line[..<colon].lowercasedASCII, String(decoding: value.dropLast(blanks), as: UTF8.self))
    }
}

extension Collection<UInt8> {
    /// The text with the letters A to Z in lower case.
    var lowercasedASCII: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        return String(decoding: map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
