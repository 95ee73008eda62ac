import Settings
import Testing
import Topology
import Worker

@testable import Operations

@Suite struct ExactCountTests {
    private func count(_ partitions: [(Int64, Int64)], removed: Int64 = 0) -> ExactCount {
        ExactCount(
            writer: .dedupe, input: "t.verified",
            partitions: partitions.enumerated().map { index, numbers in
                ExactCount.Partition(partition: Int32(index), counted: numbers.0, found: numbers.1)
            }, repeated: 0, former: 0, removed: removed)
    }

    @Test func `a loss in one partition is not made good by more in another`() {
        let exact = count([(10, 9), (10, 12)])
        #expect(exact.beyond == 2)
        #expect(
            exact.problems("t.unique") == [
                "t.unique: dedupe counted 10 records written for t.verified[0], and 9 are there: 1 lost"
            ])
    }

    @Test func `what retention has removed is no loss, and said to prove nothing`() {
        let exact = count([(10, 9)], removed: 3)
        #expect(exact.problems("t.unique").isEmpty)
        #expect(
            exact.line("t.unique") == "t.unique: retention has removed 3 records, so the exact count proves nothing")
    }

    @Test func `positions differ by offset and index`() throws {
        var positions = PositionSet(1_000..<2_000)
        let inserted: [(Int64, Int)] = [(1_000, 0), (1_000, 1), (1_999, 0), (1_000, 0), (1_000, 1), (1_999, 1)]
        let isNew = try inserted.map { try positions.insert(offset: $0.0, index: $0.1) }
        #expect(isNew == [true, true, true, false, false, true])
        #expect(positions.count == 4)
        #expect(!positions.contains(offset: 2_000) && !positions.contains(offset: 999))
    }

    @Test func `further outputs take a bounded place, and more are refused`() throws {
        var positions = PositionSet(0..<1_000, furtherWordsMax: 2)
        for offset in Int64(0)..<128 { #expect(try positions.insert(offset: offset, index: 1)) }
        #expect(throws: CommandError.self) { try positions.insert(offset: 5, index: 2) }
        #expect(try !positions.insert(offset: 5, index: 1))
        #expect(try positions.insert(offset: 900, index: 0))
        #expect(positions.count == 129)
    }
}
