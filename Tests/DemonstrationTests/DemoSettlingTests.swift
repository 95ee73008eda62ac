import Records
import Testing
import Topology

@testable import Demonstration
@testable import Operations

@Suite struct DemoSettlingTests {
    private func reconciliation(settled: Int64, end: Int64) -> Reconciliation {
        let tally = StageTally(began: 0, counts: [.forwarded: settled], forwarded: settled)
        let partition = PartitionAccount(
            partition: 0, held: 0..<end, standing: .counted(committed: settled, tally: tally))
        let stage = StageAccount(stage: .verify, group: "g", topic: "t", partitions: [partition])
        return Reconciliation(stages: [stage], flows: [])
    }

    private let start = ContinuousClock.now

    @Test func `it is over when everything that was published is settled`() throws {
        var wait = DemoSettling(bodyCount: 10)
        #expect(try !wait.isOver(reconciliation(settled: 0, end: 0), at: start))
        #expect(try !wait.isOver(reconciliation(settled: 9, end: 9), at: start))
        #expect(try !wait.isOver(reconciliation(settled: 9, end: 10), at: start))
        #expect(try wait.isOver(reconciliation(settled: 10, end: 10), at: start))
    }

    @Test func `a standstill ends the wait, slow progress does not`() throws {
        var wait = DemoSettling(bodyCount: 10)
        for minute in 0..<5 {
            let now = start + .seconds(60 * minute)
            let state = reconciliation(settled: Int64(minute), end: 10)
            #expect(try !wait.isOver(state, at: now))
        }
        let stuck = reconciliation(settled: 4, end: 10)
        #expect(try !wait.isOver(stuck, at: start + .seconds(300)))
        #expect(throws: DemoSettling.Standstill.self) { try wait.isOver(stuck, at: start + .seconds(400)) }
    }
}
