import Kafka
import Testing

@testable import DedupeStage

@Suite struct InFlightTests {
    private let first = TopicPartition(topic: "verified", partition: 0)
    private let second = TopicPartition(topic: "verified", partition: 1)

    private func filled() -> InFlight<String, Int> {
        var inFlight = InFlight<String, Int>()
        inFlight.append(1, of: "a", from: first, at: 10)
        inFlight.append(2, of: "a", from: second, at: 10)
        inFlight.append(3, of: "b", from: first, at: 10)
        inFlight.append(4, of: "a", from: first, at: 12)
        return inFlight
    }

    @Test func `all that is in hand of a key is known, in order`() {
        let inFlight = filled()
        #expect(inFlight.values(of: "a") == [1, 2, 4])
        #expect(inFlight.values(of: "c").isEmpty)
        #expect(inFlight.brought(by: first, offsets: 10...10).map(\.value) == [1, 3])
        #expect(inFlight.brought(by: first, offsets: 11...11).isEmpty)
        #expect(inFlight.brought(by: first, offsets: 10...12).map(\.value) == [1, 3, 4])
    }

    @Test func `a record takes its own entries along and no others`() {
        var inFlight = filled()
        inFlight.forget(first, offsets: 10...10)
        #expect(inFlight.values(of: "a") == [2, 4])
        #expect(inFlight.values(of: "b").isEmpty)
        #expect(inFlight.brought(by: first, offsets: 12...12).map(\.value) == [4])
    }

    @Test func `what is read again is forgotten from there on`() {
        var inFlight = filled()
        inFlight.forget(first, offsets: 11 ... .max)
        #expect(inFlight.values(of: "a") == [1, 2])
        inFlight.append(5, of: "a", from: first, at: 11)
        #expect(inFlight.values(of: "a") == [1, 2, 5])
    }

    @Test func `a partition that is given up leaves nothing behind`() {
        var inFlight = filled()
        inFlight.forget(first, offsets: .min ... .max)
        inFlight.forget(second, offsets: .min ... .max)
        #expect(inFlight.isEmpty)
    }
}
