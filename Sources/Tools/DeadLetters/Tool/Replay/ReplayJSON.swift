package import JSON
import Records
package import Commands
package import Store

extension ReplayPlan {
    /// - Parameter limit: maximum letters shown, both of the selected ones and of those left out.
    func json(shown limit: Int) -> JSONContent {
        let leftOut = skipped.prefix(limit).map { letter -> JSONContent in
            ["id": letter.id, "why": letter.why.name, "detail": letter.why.detail]
        }
        let shown: JSONContent = [
            "letters_shown": letters.prefix(limit).map { JSONContent($0, Self.columns) }, "left_out_shown": leftOut,
        ]
        return json + shown
    }

    /// The totals of a dry run.
    package var json: JSONContent {
        [
            "filter": selection.text, "note": note, "letters": count, "on_no_chain": onNoChainCount,
            "differ_from_source": differingCount, "oldest": oldest, "newest": newest, "topics": topics,
            "reasons": reasons, "verdicts": verdicts, "left_out": skippedCounts,
        ]
    }

    package static let columns: [ReportColumn<Letter>] = [
        .init("reason", title: "was", rank: 2, \.row.reason), .init("id", \.row.id),
        .init("failed_at", title: "failed", rank: 3, \.row.failedAt), .member("source", \.row.source.position),
        .init("verdict", title: "today", \.verdict.name),
        .init("detail", title: "because", rank: 1, lengthMax: 120, \.verdict.detail),
    ]
}

extension ReplayProgress {
    var json: JSONContent { ["replay": number, "letters": count, "state": state.rawValue, "note": note] + counts.json }
}

extension ReplayCounts {
    fileprivate var json: JSONContent {
        ["sent": sent, "accepted": accepted, "refused": refused, "unsent": unsent, "unknown": unknown]
    }
}

extension ReplayRow {
    package static let columns: [ReportColumn<ReplayRow>] = [
        .init("replay", \.number), .init("begun_at", title: "begun", rank: 3, \.begunAt),
        .init("who", rank: 4, lengthMax: 24, \.who), .init("state", \.effectiveState.rawValue),
        .init("letters", \.count), .init("sent", rank: 2, \.counts.sent), .init("accepted", \.counts.accepted),
        .init("refused", \.counts.refused), .init("unsent", title: "not sent", rank: 1, \.counts.unsent),
        .member("unknown", \.counts.unknown), .init("why", rank: 5, lengthMax: 60, \.why),
        .init("filter", title: "chosen", rank: 6, lengthMax: 60, \.filter), .member("ended_at", \.endedAt),
        .member("note", \.note), .member("rate_per_second", \.rate), .member("failing_share_max", \.failingShareMax),
    ]
}

extension ReplayRecordRow {
    package static let columns: [ReportColumn<ReplayRecordRow>] = [
        .init("dead_letter_id", title: "letter", \.letterID), .init("sent_to", rank: 2, \.sent?.description),
        .init("outcome", \.outcome?.rawValue),
        .words("because", rank: 1, lengthMax: 200) { record in
            [record.outcomeReason, record.refusedAs.map { "now \($0)" } ?? ""].filter { !$0.isEmpty }.joined(
                separator: "; ")
        }, .member("sent_at", \.sentAt), .member("reason", \.outcomeReason), .member("refused_as", \.refusedAs),
        .member("outcome_at", \.outcomeAt),
    ]
}
