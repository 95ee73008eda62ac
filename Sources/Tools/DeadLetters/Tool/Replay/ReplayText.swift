import AppStore
import Commands
import Records
import Settings
import Store

/// Replays for a terminal.
enum ReplayText {
    static func plan(_ plan: ReplayPlan, shown limit: Int) -> [TextPart] {
        var table = TextTable([.init(""), .init("")])
        table.add(["to be sent", "\(plan.count) dead letters: \(plan.selection.text)"])
        if let oldest = plan.oldest, let newest = plan.newest {
            table.add(["topics", counts(plan.topics)])
            table.add(["reasons", counts(plan.reasons)])
            table.add(["failed", "\(oldest) to \(newest)"])
            table.add(["verifier", counts(plan.verdicts)])
            table.add([
                "evidence",
                "\(plan.onNoChainCount) on no verified chain, \(plan.differingCount) differ from "
                    + "their source: none of these is sent",
            ])
        }
        if let note = plan.note { table.add(["note", note]) }
        var parts: [TextPart] = [.table(table)]
        let skipped = Dictionary(grouping: plan.skipped, by: \.why.name)
        for (_, letters) in skipped.sorted(by: { $0.key < $1.key }) {
            guard let first = letters.first else { continue }
            let count = letters.count
            parts.append(.line("left out: \(count), as \(first.id): \(first.why.detail)"))
        }
        let doubtful = plan.letters.filter { !$0.verdict.detail.isEmpty }
        guard !doubtful.isEmpty, limit > 0 else { return parts }
        let shown = Array(doubtful.prefix(limit))
        parts += [.blank, .table(TextTable(shown, ReplayPlan.columns))]
        if doubtful.count > limit { parts.append(.line("and \(doubtful.count - limit) more: see --show")) }
        return parts
    }

    private static func counts(_ counts: [String: Int]) -> String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            "\(Printable.line($0.key, lengthMax: 60)) \($0.value)"
        }.joined(separator: ", ")
    }

    static func progress(_ progress: ReplayProgress) -> String { "\(title(progress)): \(counts(progress))" }

    static func title(_ progress: ReplayProgress) -> String { "replay \(progress.number) \(progress.state.rawValue)" }

    static func counts(_ progress: ReplayProgress) -> String {
        "\(progress.counts.sent) of \(progress.count) sent, " + outcomes(progress.counts)
    }

    private static func outcomes(_ counts: ReplayCounts) -> String {
        var text = "\(counts.accepted) accepted, \(counts.refused) refused again"
        if counts.unsent > 0 { text += ", \(counts.unsent) not sent" }
        if counts.unknown > 0 { text += ", \(counts.unknown) unknown" }
        return text
    }

    static func replay(_ row: ReplayRow, _ records: [ReplayRecordRow]) -> [TextPart] {
        var facts = TextTable([.init(""), .init("")])
        facts.add(["replay", "\(row.number), \(row.effectiveState.rawValue)"])
        facts.add(["begun", "\(Timestamp(row.begunAt)) by \(row.who)"])
        facts.add(["why", row.why])
        facts.add(["letters", "\(row.count): \(row.filter)"])
        facts.add(["became", "\(row.counts.sent) sent, \(outcomes(row.counts))"])
        facts.add(["limits", "\(row.rate) per second, stops above \(row.failingShareMax) refused again"])
        if let endedAt = row.endedAt { facts.add(["ended", "\(Timestamp(endedAt))"]) }
        if !row.note.isEmpty { facts.add(["note", row.note]) }
        guard !records.isEmpty else { return [.table(facts)] }
        let table = TextTable(records, ReplayRecordRow.columns) { $0.outcome == .refused }
        return [.table(facts), .blank, .table(table)]
    }
}
