import AppStore
import Commands
import DeadLetters
import HTTP
import Records
import Store

enum ReplayTables {
    static func list(_ html: inout HTML, _ rows: [ReplayRow]) {
        html.table(
            "Replays, the last first", rows,
            [
                .row("Replay") { html, row in
                    let link = LocalLink("replays", String(row.number))
                    let attributes = [.href(link), HTML.Attribute("data-row", nil)]
                    html.element("a", attributes, text: String(row.number))
                }, PageColumn("Begun") { $0.time(Timestamp($1.begunAt)) }, .foreign("Who", bytesMax: 80, \.who),
                PageColumn("State") { $0.tag($1.effectiveState.rawValue) }, .number("Letters", \.count),
                .number("Accepted", \.counts.accepted), .number("Refused", \.counts.refused),
                .foreign("Why", "wide", bytesMax: 200, \.why), .foreign("Chosen", "wide", bytesMax: 200, \.filter),
            ])
    }

    /// The outcome of a replay that is not running any more.
    static func outcome(_ html: inout HTML, _ row: ReplayRow) {
        let counts = row.counts
        let parts = [
            (counts.accepted, "accepted"), (counts.refused, "refused again"), (counts.unsent, "never sent"),
            (counts.unknown, "of unknown outcome"),
        ].filter { $0.0 > 0 }.map { "\(Quantity.grouped($0.0)) \($0.1)" }
        let sum = parts.isEmpty ? "nothing was sent" : parts.joined(separator: ", ")
        switch row.effectiveState {
        case .prepared, .running: return
        case .completed:
            let isClean = counts.accepted == row.count
            html.element("p", [.class(isClean ? "done" : "note")], text: "Finished: \(sum).")
        case .stopped, .interrupted:
            html.element("p", [.class("note")]) { html in
                html.text("It has \(row.effectiveState == .stopped ? "stopped" : "been interrupted")")
                html.text(": \(sum) of \(Quantity.grouped(row.count)).")
            }
        }
        guard !row.note.isEmpty else { return }
        html.element("p", [.class("note")]) { $0.foreign(row.note, bytesMax: 1000) }
    }

    static func progress(_ html: inout HTML, _ row: ReplayRow) {
        html.element("p", [.class("lead")]) { html in
            html.tag(row.effectiveState.rawValue)
            html.text(" begun ")
            html.time(Timestamp(row.begunAt))
            html.text(" by ")
            html.foreign(row.who, bytesMax: 120)
        }
        let counts = row.counts
        let decided = counts.accepted + counts.refused + counts.unsent + counts.unknown
        html.element(
            "progress",
            [
                HTML.Attribute("max", String(max(1, row.count))), .value(String(decided)),
                .label("\(Quantity.grouped(decided)) of \(Quantity.grouped(row.count)) decided"),
            ], text: "")
        html.figures { html in
            html.figure("Letters", Quantity.grouped(row.count)) { $0.text("\(Quantity.grouped(counts.sent)) sent") }
            html.figure("Accepted", Quantity.grouped(counts.accepted)) { $0.text("of those sent") }
            html.figure("Refused again", Quantity.grouped(counts.refused)) { $0.text("new dead letters") }
            html.figure("Not known", Quantity.grouped(counts.unknown)) {
                $0.text("\(Quantity.grouped(counts.unsent)) never sent")
            }
        }
        html.element("dl", [.class("facts")]) { html in
            html.fact("Why") { $0.foreign(row.why, bytesMax: 2000) }
            html.fact("Chosen") { $0.foreign(row.filter, bytesMax: 1000) }
            html.fact("Rate") { $0.text("\(Quantity.counted(row.rate, "record")) per second at most") }
            html.fact("Stops") { $0.text("above \(Int(row.failingShareMax * 100)) % refused of the last hundred") }
        }
    }

    static func records(_ html: inout HTML, _ records: [ReplayRecordRow], of row: ReplayRow) {
        html.element("h2", text: "Records")
        html.table(
            "\(Quantity.grouped(records.count)) of \(Quantity.grouped(row.count)) records", records,
            [
                .row("Letter") { $0.letter($1.letterID, isRow: true) },
                PageColumn("Sent") { html, record in
                    if let at = record.sentAt { html.time(Timestamp(at)) } else { html.optional(nil) }
                }, .foreign("To") { $0.sent?.description },
                PageColumn("Outcome") { html, record in
                    html.tag(record.outcome?.rawValue ?? "waiting")
                    if let letter = record.refusedAs {
                        html.text(" as ")
                        html.letter(letter)
                    }
                }, .foreign("Reason", "wide", bytesMax: 300, \.outcomeReason),
            ])
    }

    /// The sums of a dry run.
    static func plan(_ html: inout HTML, _ plan: ReplayPlan) {
        html.figures { html in
            html.figure("Would be sent", Quantity.grouped(plan.count)) { html in html.text(words(plan.topics)) }
            html.figure("Today's verifier", verifierWord(plan)) { html in html.text(words(plan.verdicts)) }
            let unproven = plan.onNoChainCount + plan.differingCount
            html.figure("Without evidence", Quantity.grouped(unproven)) {
                $0.text(
                    "\(Quantity.grouped(plan.onNoChainCount)) on no verified chain, "
                        + "\(Quantity.grouped(plan.differingCount)) differ from their source: not sent")
            }
            html.figure("Left out", Quantity.grouped(plan.skipped.count)) { html in html.text(words(plan.skippedCounts))
            }
        }
    }

    private static func words(_ counts: [String: Int]) -> String {
        let parts = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            "\(Quantity.grouped($0.value)) \($0.key)"
        }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }

    /// A summary of the verdicts.
    private static func verifierWord(_ plan: ReplayPlan) -> String {
        let isAsked = plan.letters.contains { letter in if case .unasked = letter.verdict { false } else { true } }
        guard isAsked else { return plan.letters.isEmpty ? "–" : "not asked" }
        return plan.isClean ? "nothing against it" : "against some"
    }

    static func letters(_ html: inout HTML, _ plan: ReplayPlan, limit: Int) {
        guard plan.count > 0 else {
            html.element("p", [.class("soft")], text: "Nothing would be sent.")
            return
        }
        html.element("h2", text: "One by one")
        let more = plan.count > limit ? "The first \(limit) of " : ""
        html.table(
            "\(more)\(Quantity.counted(plan.count, "dead letter")), the oldest first", plan.letters.prefix(limit),
            [
                PageColumn("Refused for") { $0.reason($1.row.reason) },
                .row("Letter") { $0.letter($1.row.id, isRow: true) }, PageColumn("Failed") { $0.time($1.row.failedAt) },
                .foreign("Would go to") { $0.row.source.position.topic },
                PageColumn("Today") { $0.tag($1.verdict.name) },
                .foreign("Detail", "wide", bytesMax: 300, \.verdict.detail),
            ])
    }
}
