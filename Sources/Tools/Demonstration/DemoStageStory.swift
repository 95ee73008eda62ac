import Commands
import Operations
import Records
import Topology

/// The dispositions of all records, as text whose numbers a reader can add up.
enum DemoStageStory {
    static func lines(of reconciliation: Reconciliation) -> [String] {
        var lines = ["2. What became of every record, stage by stage", ""]
        for stage in reconciliation.stages { lines += self.lines(of: stage).map { DemoResult.margin + $0 } }
        let verdict =
            reconciliation.isBalanced
            ? "It adds up: each record has one disposition, each topic was given what was forwarded."
            : "It does NOT add up."
        return lines + ["", DemoResult.margin + verdict]
    }

    private static func lines(of stage: StageAccount) -> [String] {
        var table = TextTable([.init("", .right), .init(""), .init("")])
        for (disposition, count) in stage.stage.sorted(stage.counts) {
            table.add(["\(Quantity.grouped(count))", disposition.phrase, meaning(of: disposition, in: stage)])
        }
        let what = stage.stage == .verify ? "bodies" : "observations"
        let heading = "\(stage.stage.name): \(Quantity.grouped(stage.settled)) \(what) in"
        let destination = Topology.stages.first { $0.inputTopic == stage.stage.outputTopic }
        let on = destination.map { ", \(Quantity.grouped(stage.forwarded)) on to \($0.name)" }
        return [heading + (on ?? "")] + table.lines(indent: 2)
    }

    private static func meaning(of disposition: Disposition, in stage: StageAccount) -> String {
        switch disposition {
        case .forwarded where stage.stage == .verify:
            "as \(Quantity.grouped(stage.forwarded)) observations, one for each transaction"
        case .duplicate: answered(stage)
        case .deadLettered: "refused, see 4"
        default: disposition.meaning
        }
    }

    /// Describes duplicates, which stop here unless an ingestion service waits for their outcome.
    private static func answered(_ stage: StageAccount) -> String {
        let news: [Disposition] = [.forwarded, .refreshed, .superseded]
        let answered = stage.forwarded - news.reduce(0) { $0 + (stage.counts[$1] ?? 0) }
        guard answered > 0 else { return "known already" }
        return "known already; \(Quantity.grouped(answered)) go on, marked, because somebody waits for the answer"
    }
}
