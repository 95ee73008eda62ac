/// A request over HTTPS.
package struct HTTPSRequest: Sendable {
    package enum Method: Sendable {
        case get
        case post([UInt8])
        case put([UInt8])
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

    /// The field as a line without its end.
    ///
    /// `nil` if the field would become several lines or lose its value.
    var line: String? {
        let isPlain = (name + value).utf8.allSatisfy { 0x20..<0x7F ~= $0 }
        return isPlain && !value.isEmpty ? "\(name): \(value)" : nil
    }

    /// The field's name, without its value.
    package var description: String { name }
}

/// A response, whatever its status: redirects are not followed.
package struct HTTPSResponse: Sendable {
    package let status: Int
    /// The headers in the order of their arrival, with names in lower case.
    package let headers: [HTTPSHeader]
    package let body: [UInt8]

    /// The value of the first field with a name.
    ///
    /// - Parameter name: the field's name in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name.utf8.elementsEqual(name.utf8) }?.value }
}

extension HTTPSHeader {
    /// Reads a received line.
    ///
    /// `nil` if the line is no header field.
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
