import Testing

@testable import Kafka

@Suite struct KafkaIdentityTests {
    private static func identity(_ password: String) -> KafkaIdentity {
        KafkaIdentity(["sasl.username": "KafkaIdentityTests", "sasl.password": password, "bootstrap.servers": "a:1"])
    }

    @Test func `a replaced identity leads to the newest one, also back again`() {
        let (first, second, third) = (Self.identity("first"), Self.identity("second"), Self.identity("third"))
        #expect(first.newest == first)
        KafkaIdentity.replace(first, by: second)
        KafkaIdentity.replace(second, by: third)
        #expect(first.newest == third)
        #expect(second.newest == third)
        KafkaIdentity.replace(third, by: first)
        #expect(first.newest == first)
        #expect(second.newest == first)
        #expect(third.newest == first)
    }

    @Test func `only user name and password can be changed while a client lives`() {
        let first = Self.identity("first")
        #expect(Self.identity("second").differsInLoginAlone(from: first))
        let withKey = KafkaIdentity(first.properties.merging(["ssl.key.pem": "k"]) { $1 })
        #expect(!withKey.differsInLoginAlone(from: first))
        #expect(first.properties["bootstrap.servers"] == nil)
    }
}
