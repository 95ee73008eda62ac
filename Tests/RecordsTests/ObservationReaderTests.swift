import AppStore
import Entitlements
import Kafka
import Records
import TestSupport
import Testing

/// Values that a batch's observations share are kept once, and none reaches another observation.
@Suite struct ObservationReaderTests {
    @Test(arguments: Scenario.names)
    func `each observation of a batch is read as if it were alone`(name: String) throws {
        var reader = ObservationReader()
        let sent = try Scenario.load(name).observations
        for observation in sent + sent.reversed() {
            let record = Self.record(of: observation)
            let read = try reader.read(record) { $0 }.get()
            let alone = try Observation(record)
            #expect(read.facts == alone.facts)
            #expect(read.record(for: "unique") == alone.record(for: "unique"))
        }
    }

    @Test func `a text is its own, whatever the one before it was`() throws {
        var reader = ObservationReader()
        let products = ["gold", "golf", "gold", "gol", "golden", "gold.monthly.family", "g"]
        let topics = ["storekit.raw", "storekit.rax", "storekit.raw", "t", "storekit.raw.2"]
        for topic in topics + topics.reversed() {
            for product in products {
                let payload = ObservationTests.transaction.replacing("gold", with: product)
                var observation = try ObservationTests.observation(transaction: payload)
                observation.source?.topic = topic
                let read = try reader.read(Self.record(of: observation)) { $0 }.get()
                #expect(read.source?.topic == topic)
                #expect(read.facts.transaction?.identity.productID.text == product)
            }
        }
    }

    @Test func `a record at fault changes nothing for the next one`() throws {
        var reader = ObservationReader()
        let good = Self.record(of: try ObservationTests.observation())
        let bad = ConsumerRecord(topicPartition: good.topicPartition, offset: 2, value: [0x7B])
        for record in [good, bad, good, bad] {
            let read = reader.read(record) { $0.facts }
            #expect((try? read.get()) == (record == good ? try Observation(good).facts : nil))
        }
    }

    private static func record(of observation: Observation) -> ConsumerRecord {
        let written = observation.record(for: "verified")
        return ConsumerRecord(
            topicPartition: TopicPartition(topic: "verified", partition: 0),
            offset: 1,
            key: written.key,
            value: written.value
        )
    }
}
