import JSON

/// A host and a port, as Kafka and PostgreSQL name servers.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`; an IPv6 address must be in brackets.
    package init?(_ text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        var host = text[..<colon]
        let port = UnitText.integer(String(text[text.index(after: colon)...]))
        guard let port, (1...65_535).contains(port) else { return nil }
        if host.hasPrefix("[") {
            guard host.hasSuffix("]") else { return nil }
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.allSatisfy(Self.isHostCharacter) else { return nil }
        self.init(host: String(host), port: UInt16(port))
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    private static func isHostCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-._:%".contains(character))
    }
}

extension [HostPort] {
    /// The servers in librdkafka's format of bootstrap servers.
    package var commaSeparated: String { map(\.description).joined(separator: ",") }
}

extension SettingKind where Value == [HostPort] {
    /// The kind of a list of at least one server, comma-separated or as a JSON array of strings.
    package static var hostPorts: SettingKind {
        .list(
            "host:port list", expected: "a comma-separated list of host:port, such as broker-1:9092,broker-2:9092",
            countMin: 1
        ) { HostPort($0) }
    }
}
