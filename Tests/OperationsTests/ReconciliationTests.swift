import AppStore
import Records
import Testing
import Topology

@testable import Operations

@Suite struct ReconciliationTests {
    private func account(_ standing: PartitionAccount.Standing, held: Range<Int64> = 0..<100) -> PartitionAccount {
        PartitionAccount(partition: 0, held: held, standing: standing)
    }

    private func stage(_ partitions: PartitionAccount...) -> StageAccount {
        StageAccount(stage: .verify, group: "entitlements.verify", topic: "storekit.raw", partitions: partitions)
    }

    private func tally(_ began: Int64, _ counts: [Disposition: Int64]) -> StageTally {
        StageTally(began: began, counts: counts, forwarded: counts[.forwarded] ?? 0)
    }

    @Test func `dispositions that equal what was settled leave nothing unaccounted`() {
        let counts: [Disposition: Int64] = [.forwarded: 80, .ignored: 5, .deadLettered: 15]
        let partition = account(.counted(committed: 100, tally: tally(0, counts)))
        #expect(partition.unaccounted == 0)
        #expect(partition.lag == 0)
        #expect(stage(partition).problems.isEmpty)
        #expect(stage(partition).settled == 100)
    }

    @Test(arguments: [0..<100, 5..<100, 10..<100, 50..<100] as [Range<Int64>])
    func `an account that begins later is a finding, also once retention has removed the rest`(held: Range<Int64>)
        throws
    {
        let late = tally(10, [.forwarded: 90])
        let problems = stage(account(.counted(committed: 100, tally: late), held: held)).problems
        #expect(problems.count == 1)
        #expect(problems[0].contains("what became of 10 offsets before it is not known"))
        #expect(problems[0].contains("still holds them") == (held.lowerBound < 10))
        let statement = try #require(AccountStatement(at: .earliest, by: "eva", reason: "lost"))
        let stated = PartitionAccount.Standing.counted(committed: 100, tally: late, statement: statement)
        #expect(stage(account(stated, held: held)).problems.isEmpty)
        #expect(stage(account(stated)).statements.map { $0.hasSuffix(": lost") } == [true])
    }

    @Test func `only offsets between the first and the end of a topic can be committed`() {
        let beyond = PartitionAccount.Standing.counted(committed: 100, tally: tally(0, [.forwarded: 100]))
        #expect(stage(account(beyond, held: 0..<99)).problems.count == 1)
        #expect(stage(account(.withoutTally(committed: 0))).problems.isEmpty)
    }

    @Test(arguments: [(89, 1), (91, -1)] as [(Int64, Int64)]) func `one record too few or too many is found`(
        forwarded: Int64, unaccounted: Int64
    ) {
        let counts: [Disposition: Int64] = [.forwarded: forwarded]
        let partition = account(.counted(committed: 90, tally: tally(0, counts)))
        #expect(partition.unaccounted == unaccounted)
        #expect(stage(partition).problems.count == 1)
    }

    @Test func `errors of two partitions do not cancel each other out`() {
        let short = account(.counted(committed: 100, tally: tally(0, [.forwarded: 99])))
        let long = account(.counted(committed: 100, tally: tally(0, [.forwarded: 101])))
        #expect(stage(short, long).problems.count == 2)
    }

    @Test func `an offset committed without a tally proves nothing`() {
        #expect(stage(account(.withoutTally(committed: 50))).problems.count == 1)
    }

    @Test func `what was never begun waits and is no problem`() {
        let partition = account(.notBegun, held: 20..<100)
        #expect(partition.lag == 80)
        #expect(partition.unaccounted == nil)
        #expect(stage(partition).problems.isEmpty)
    }

    @Test func `records that retention removed before they were read do not wait`() {
        let counts: [Disposition: Int64] = [.forwarded: 5]
        let partition = account(.counted(committed: 5, tally: tally(0, counts)), held: 60..<100)
        #expect(partition.lag == 40)
    }

    private func flow(counted: Int64, given: Int64, fromStart: Bool = true) -> Flow {
        Flow(
            writers: [.verify], topic: "storekit.verified", counted: counted, given: given, held: given,
            isCountedFromStart: fromStart)
    }

    @Test func `a topic that was given less than was counted has lost something`() {
        #expect(flow(counted: 10, given: 9).problem != nil)
        #expect(flow(counted: 10, given: 10).problem == nil)
        #expect(flow(counted: 10, given: 12).problem == nil)
    }

    @Test func `what is beyond the count is reported only where the count began at the start`() {
        #expect(flow(counted: 10, given: 12).beyond == 2)
        #expect(flow(counted: 10, given: 10).beyond == 0)
        #expect(flow(counted: 10, given: 12, fromStart: false).beyond == nil)
    }

    @Test func `one problem anywhere unbalances the whole`() {
        let good = account(.counted(committed: 100, tally: tally(0, [.forwarded: 100])))
        let balanced = Reconciliation(stages: [stage(good)], flows: [flow(counted: 100, given: 100)])
        #expect(balanced.isBalanced)
        #expect(balanced.isSettled)
        let lossy = Reconciliation(stages: [stage(good)], flows: [flow(counted: 100, given: 99)])
        #expect(!lossy.isBalanced)
    }
}
