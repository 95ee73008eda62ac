import Testing

@testable import Kafka

@Suite struct ScramSupportTests {
    private static let scram = ["security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"]

    @Test(arguments: [(0x0200_02ff, true), (0x0206_00ff, true), (0x0206_01ff, false)])
    func `SCRAM with a librdkafka before 2point6point1 is warned of`(version: Int32, isWarned: Bool) {
        let warning = ScramSupport.warning(Self.scram, version: version)
        #expect((warning != nil) == isWarned)
    }

    @Test func `the warning names the version and the ways out`() {
        let warning = ScramSupport.warning(Self.scram, version: 0x0200_02ff) ?? ""
        for words in ["librdkafka 2.0.2", "Kafka 4", "2.6.1", "sasl.mechanism=PLAIN", "ssl"] {
            #expect(warning.contains(words), "\(words)")
        }
    }

    @Test(arguments: [
        ["sasl.mechanism": "PLAIN", "security.protocol": "sasl_ssl"],
        ["sasl.mechanisms": "SCRAM-SHA-256", "security.protocol": "ssl"], ["sasl.mechanisms": "SCRAM-SHA-256"], [:],
    ]) func `other ways to sign in are not`(properties: [String: String]) {
        #expect(ScramSupport.warning(properties, version: 0x0200_02ff) == nil)
    }
}
