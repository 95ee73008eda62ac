import CRDKafka

/// Known faults of librdkafka versions in SCRAM authentication.
package enum ScramSupport {
    /// The first librdkafka that sends the nonce as RFC 5802, section 5.1, requires.
    ///
    /// Earlier versions repeat the client's part of the nonce (librdkafka's pull request 4895). Kafka 3 accepts that
    /// (again since 3.8.1). Kafka 4 compares the nonces, and answers that the credentials are invalid, whatever the
    /// password.
    static let versionMin: Int32 = 0x0206_01ff

    /// A warning for the operator about properties that brokers will refuse.
    ///
    /// `nil` if no fault is known.
    package static func warning(_ properties: [String: String]) -> String? {
        warning(properties, version: rd_kafka_version())
    }

    static func warning(_ properties: [String: String], version: Int32) -> String? {
        let mechanism = properties["sasl.mechanisms"] ?? properties["sasl.mechanism"] ?? ""
        let protocolName = properties["security.protocol"]?.lowercased() ?? ""
        guard mechanism.uppercased().hasPrefix("SCRAM-"), protocolName.hasPrefix("sasl"), version < versionMin else {
            return nil
        }
        return "librdkafka \(text(version)) cannot sign in by SCRAM to Kafka 4 and later, which"
            + " refuses the right password as invalid credentials: install librdkafka 2.6.1 or"
            + " later, or use a client certificate (security.protocol=ssl) or sasl.mechanism=PLAIN"
            + " over TLS; Kafka 3 is not concerned"
    }

    /// The version as text: `2.0.2` for 0x020002ff (rdkafka.h, `RD_KAFKA_VERSION`).
    private static func text(_ version: Int32) -> String {
        "\(version >> 24 & 0xff).\(version >> 16 & 0xff).\(version >> 8 & 0xff)"
    }
}
