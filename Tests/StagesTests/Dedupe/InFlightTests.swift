import Kafka
import Testing

@testable import DedupeStage

@Suite struct InFlightTests {
    private let first = TopicPartition(topic: "verified", partition: 0)
    private let second = TopicPartition(topic: "verified", partition: 1)

    private func arrival(_ value: Int, at offset: Int64) -> InFlight<Int>.Arrival {
        InFlight.Arrival(offset: offset, value: value)
    }

    private func filled() -> InFlight<Int> {
        var inFlight = InFlight<Int>()
        inFlight.append(arrival(1, at: 10), from: first)
        inFlight.append(arrival(2, at: 10), from: second)
        inFlight.append(arrival(3, at: 10), from: first)
        inFlight.append(arrival(4, at: 12), from: first)
        return inFlight
    }

    private func values(_ inFlight: InFlight<Int>) -> [Int] { inFlight.all.map(\.value).sorted() }

    @Test func `everything in flight is known, in the order of its partition`() {
        let inFlight = filled()
        #expect(values(inFlight) == [1, 2, 3, 4])
        #expect(inFlight.brought(by: first, offsets: 10...10).map(\.value) == [1, 3])
        #expect(inFlight.brought(by: first, offsets: 11...11).isEmpty)
        #expect(inFlight.brought(by: first, offsets: 10...12).map(\.value) == [1, 3, 4])
    }

    @Test func `a record removes its own entries and no others`() {
        var inFlight = filled()
        inFlight.forget(first, offsets: 10...10)
        #expect(values(inFlight) == [2, 4])
        #expect(inFlight.brought(by: first, offsets: 12...12).map(\.value) == [4])
    }

    @Test func `records that are read again are forgotten from there on`() {
        var inFlight = filled()
        inFlight.forget(first, offsets: 11 ... .max)
        #expect(values(inFlight) == [1, 2, 3])
        inFlight.append(arrival(5, at: 11), from: first)
        #expect(inFlight.brought(by: first, offsets: 0...20).map(\.value) == [1, 3, 5])
    }

    @Test func `a revoked partition leaves nothing behind`() {
        var inFlight = filled()
        inFlight.forget(first, offsets: .min ... .max)
        inFlight.forget(second, offsets: .min ... .max)
        #expect(inFlight.isEmpty)
    }
}
