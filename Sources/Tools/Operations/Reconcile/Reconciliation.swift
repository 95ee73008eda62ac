package import Commands
package import Records

/// A check that every record is accounted for, in each stage and each topic.
package struct Reconciliation: Hashable, Sendable {
    package let stages: [StageAccount]
    package let flows: [Flow]
    /// Number of offsets without a record that an operator has investigated; a higher count is a problem.
    package var skippedMax: Int64 = 0

    package var problems: [String] { stages.flatMap(\.problems) + flows.flatMap(\.problems) + skippedProblems }

    /// The problem of offsets that stages skipped; each may have been a purchase.
    private var skippedProblems: [String] {
        let total = stages.reduce(Int64(0)) { $0 &+ ($1.counts[.skipped] ?? 0) }
        return total <= skippedMax ? [] : withoutRecords
    }

    package var isBalanced: Bool { problems.isEmpty }

    /// Whether no record waits for any stage on a record's path.
    package var isSettled: Bool { stages.allSatisfy { !$0.stage.refusesRecords || $0.isSettled } }

    package subscript(stage: StageDescription) -> StageAccount? { stages.first { $0.stage == stage } }
}

extension Reconciliation: Report {
    /// The report as text: a line for each stage with its used partitions below, then the topics.
    ///
    /// The report is one line if nothing was ever published.
    package var parts: [TextPart] {
        guard !isUntouched else {
            return [.line("Nothing has been published yet, so there is nothing to account for.")]
        }
        var table = TextTable([
            .init("stage"), .init("reads"), .init("settled", .right), .init("="), .init("waiting", .right),
        ])
        for stage in stages {
            table.add([
                stage.stage.name, stage.topic, Quantity.grouped(stage.settled), Self.sum(stage.counts, of: stage.stage),
                Quantity.grouped(stage.lag),
            ])
            for partition in stage.partitions where !partition.isUntouched {
                table.add(Self.row(partition, of: stage.stage))
            }
        }
        return [.table(table), .blank] + flowParts + verdict
    }

    /// Whether the topics have never held a record and no stage has committed an offset.
    private var isUntouched: Bool {
        flows.allSatisfy { $0.given == 0 }
            && stages.allSatisfy { $0.end == 0 && $0.partitions.allSatisfy { $0.committed == nil } }
    }

    private static func row(_ partition: PartitionAccount, of stage: StageDescription) -> [String] {
        let settled: String
        let sum: String
        switch partition.standing {
        case .notBegun where partition.held.lowerBound > 0:
            let gone = Quantity.counted(partition.held.lowerBound, "offset")
            (settled, sum) = ("0", "nothing committed yet, and \(gone) gone by retention")
        case .notBegun: (settled, sum) = ("0", "nothing committed yet")
        case .withoutTally: (settled, sum) = ("?", "committed without a tally")
        case .counted(let committed, let tally, _):
            (settled, sum) = (Quantity.grouped(committed - tally.began), Self.sum(tally.counts, of: stage))
        }
        return ["", "  partition \(partition.partition)", settled, sum, "\(partition.lag)"]
    }

    /// Returns `1,872 forwarded + 3 ignored`, with the dispositions in order.
    static func sum(_ counts: [Disposition: Int64], of stage: StageDescription) -> String {
        let terms = stage.sorted(counts).map { disposition, count in "\(Quantity.grouped(count)) \(disposition.phrase)"
        }
        return terms.isEmpty ? "0" : terms.joined(separator: " + ")
    }

    private var flowParts: [TextPart] {
        var table = TextTable([
            .init("topic"), .init("was given", .right), .init("counted by its writers", .right), .init("", rank: 1),
        ])
        for flow in flows {
            let remark =
                switch flow.beyond {
                case nil: "what was there before the tallies began is not counted"
                case 0?: ""
                case .some(let count):
                    "\(Quantity.grouped(count)) beyond: written again after a restart, made of a "
                        + "former topic's records, or link observations"
                        + (flow.exact.isEmpty ? "; --exact finds losses among them" : "")
                }
            table.add([flow.topic, Quantity.grouped(flow.given), Quantity.grouped(flow.counted), remark])
        }
        let exact = flows.flatMap { flow in flow.exact.map { $0.line(flow.topic) } }
        let counts = exact.map { TextPart.line($0) } + (exact.isEmpty ? [] : [.blank])
        return table.isEmpty ? [] : [.table(table), .blank] + counts
    }

    private var verdict: [TextPart] {
        guard isBalanced else {
            return (["It does NOT add up:"] + problems.map { "  \($0)" }).map { .line($0, isBad: true) }
        }
        let waiting = stages.reduce(0) { $0 + $1.lag }
        let settled =
            "Every settled record is accounted for"
            + (waiting == 0 ? ", and none is waiting." : "; \(Quantity.grouped(waiting)) wait.")
        return ([settled] + withoutRecords + stages.flatMap(\.statements)).map { .line($0) }
    }

    /// Remarks about stages that skipped offsets without records, which may be losses.
    private var withoutRecords: [String] {
        stages.compactMap { stage in
            guard let count = stage.counts[.skipped] else { return nil }
            return "\(stage.stage.name): \(Quantity.counted(count, "offset")) of "
                + "\(stage.topic) held no record: removed by retention before they were read; "
                + "--skipped-max says how many are dealt with"
        }
    }
}

extension Disposition { package var phrase: String { name.split(separator: "_").joined(separator: "-") } }
