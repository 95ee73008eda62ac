import Commands
import JSON
import Records
import Testing
import Topology

@testable import Operations

@Suite struct ReconciliationTextTests {
    private let reconciliation = Reconciliation(
        stages: [
            StageAccount(
                stage: .verify, group: "g.verify", topic: "t.raw",
                partitions: [
                    PartitionAccount(
                        partition: 0, held: 0..<2_010,
                        standing: .counted(
                            committed: 2_000,
                            tally: StageTally(
                                began: 0, counts: [.deadLettered: 130, .forwarded: 1_867, .ignored: 3], forwarded: 1_900
                            ))), PartitionAccount(partition: 1, held: 0..<0, standing: .notBegun),
                ])
        ],
        flows: [
            Flow(
                writers: [.verify], topic: "t.verified", counted: 1_900, given: 1_900, held: 1_900,
                isCountedFromStart: true)
        ])

    @Test func `the sum stands beside what was settled`() {
        #expect(
            reconciliation.parts.lines == [
                "stage   reads          settled  =                                                waiting",
                "verify  t.raw            2,000  1,867 forwarded + 3 ignored + 130 dead-lettered       10",
                "          partition 0    2,000  1,867 forwarded + 3 ignored + 130 dead-lettered       10", "",
                "topic       was given  counted by its writers", "t.verified      1,900                   1,900", "",
                "Every settled record is accounted for; 10 wait.",
            ])
    }

    @Test func `what retention removed before it was read is reported, also before the first commit`() {
        let tally = StageTally(began: 0, counts: [.skipped: 1_781, .ignored: 19])
        let stage = StageAccount(
            stage: .verify, group: "g.verify", topic: "t.raw",
            partitions: [
                PartitionAccount(partition: 0, held: 1_781..<1_800, standing: .counted(committed: 1_800, tally: tally)),
                PartitionAccount(partition: 1, held: 12..<12, standing: .notBegun),
            ])
        let reconciliation = Reconciliation(stages: [stage], flows: [])
        let text = reconciliation.parts.lines.joined(separator: "\n")
        #expect(text.contains("19 ignored + 1,781 skipped"))
        #expect(text.contains("nothing committed yet, and 12 offsets gone by retention"))
        #expect(
            text.contains(
                "verify: 1,781 offsets of t.raw held no record: removed by retention before they "
                    + "were read; --skipped-max"))
        #expect(text.contains("It does NOT add up:"))
    }

    @Test(arguments: [(Int64(0), false), (7, false), (8, true), (9, true)])
    func `offsets skipped unread are a problem until they are dealt with`(skippedMax: Int64, isBalanced: Bool) {
        let tally = StageTally(began: 0, counts: [.skipped: 8, .ignored: 2])
        let partition = PartitionAccount(partition: 0, held: 8..<10, standing: .counted(committed: 10, tally: tally))
        var reconciliation = Reconciliation(
            stages: [StageAccount(stage: .verify, group: "g", topic: "t.raw", partitions: [partition])], flows: [])
        reconciliation.skippedMax = skippedMax
        #expect(reconciliation.isBalanced == isBalanced)
        let text = reconciliation.parts.lines.joined(separator: "\n")
        #expect(text.contains("8 offsets of t.raw held no record"))
    }

    @Test func `a cluster that nothing was published to is one line`() {
        let untouched = Reconciliation(
            stages: [
                StageAccount(
                    stage: .verify, group: "g", topic: "t.raw",
                    partitions: [
                        PartitionAccount(partition: 0, held: 0..<0, standing: .notBegun),
                        PartitionAccount(partition: 1, held: 0..<0, standing: .notBegun),
                    ])
            ],
            flows: [
                Flow(writers: [.verify], topic: "t.verified", counted: 0, given: 0, held: 0, isCountedFromStart: true)
            ])
        #expect(untouched.parts.lines == ["Nothing has been published yet, so there is nothing to account for."])
        #expect(untouched.isBalanced)
    }

    @Test func `tools get the numbers of each partition`() {
        let json = String(decoding: reconciliation.json.bytes, as: UTF8.self)
        #expect(json.hasPrefix(#"{"is_balanced":true,"is_settled":false,"problems":[],"#))
        #expect(
            json.contains(
                #"{"partition":0,"low":0,"end":2010,"committed":2000,"waiting":10,"began":0,"#
                    + #""stated":null,"unaccounted":0,"dispositions":{"forwarded":1867,"#
                    + #""ignored":3,"dead_lettered":130}}"#))
        #expect(
            json.contains(
                #"{"partition":1,"low":0,"end":0,"committed":null,"waiting":0,"began":null,"#
                    + #""stated":null,"unaccounted":null,"dispositions":null}"#))
    }
}
