import Commands
import JSON
import Settings
package import Store

/// Replays for a terminal.
package enum ReplayText {
    static func plan(_ plan: ReplayPlan, shown limit: Int) -> [TextPart] {
        var parts = plan.json.lines.map { TextPart.line($0) }
        let skipped = Dictionary(grouping: plan.skipped, by: \.why.name)
        for (_, letters) in skipped.sorted(by: { $0.key < $1.key }) {
            guard let first = letters.first else { continue }
            parts.append(.line("left out: \(letters.count), as \(first.id): \(first.why.detail)"))
        }
        let doubtful = plan.letters.filter { !$0.verdict.detail.isEmpty }
        guard !doubtful.isEmpty, limit > 0 else { return parts }
        let shown = Array(doubtful.prefix(limit))
        parts += [.blank, .table(TextTable(shown, ReplayPlan.columns))]
        if doubtful.count > limit { parts.append(.line("and \(doubtful.count - limit) more: see --show")) }
        return parts
    }

    static func progress(_ progress: ReplayProgress) -> String { "\(title(progress)): \(counts(progress))" }

    static func title(_ progress: ReplayProgress) -> String { "replay \(progress.number) \(progress.state.rawValue)" }

    static func counts(_ progress: ReplayProgress) -> String {
        "\(progress.counts.sent) of \(progress.count) sent, " + outcomes(progress.counts)
    }

    package static func outcomes(_ counts: ReplayCounts) -> String {
        var text = "\(counts.accepted) accepted, \(counts.refused) refused again"
        if counts.unsent > 0 { text += ", \(counts.unsent) not sent" }
        if counts.unknown > 0 { text += ", \(counts.unknown) unknown" }
        return text
    }

    static func replay(_ row: ReplayRow, _ records: [ReplayRecordRow]) -> [TextPart] {
        let facts = JSONContent(row, ReplayRow.columns).lines.map { TextPart.line($0) }
        guard !records.isEmpty else { return facts }
        let table = TextTable(records, ReplayRecordRow.columns) { $0.outcome == .refused }
        return facts + [.blank, .table(table)]
    }
}
