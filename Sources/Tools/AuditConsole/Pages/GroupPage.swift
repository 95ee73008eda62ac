import AppStore
import Commands
import DeadLetters
import HTTP
import JSON
import Records
import Store

/// A page about one group: the common properties of its letters, their trend, the letters and the actions.
struct GroupPage: Sendable {
    let sources: ConsoleSources

    private static let lettersShown = 50
    private static let chartHours = 168

    private static let unknown = Page.notice("Not found", status: 404, "There is no dead letter in this group.")

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let now = sources.now()
        var query = DeadLetterQuery()
        query.group = request.parameters[0]
        let groups = try await DeadLetterGroupTable.largest(query, now: now, limit: 1, on: sources.database)
        let letters = try await DeadLetterTable.page(query, limit: Self.lettersShown, on: sources.database)
        guard let group = groups.first, let newest = letters.first else { return .page(Self.unknown) }
        let chart = try await HourlyChart(query, Self.chartHours, now: now, on: sources.database)
        let standing = try await sources.standing()
        let page = Page("Group \(group.id.prefix(8))", section: .groups) { html in
            html.element("h1") { html in
                html.text("Group ")
                html.element("span", [.class("mono"), HTML.Attribute("data-copy", "group")]) {
                    $0.foreign(group.id, bytesMax: 64)
                }
            }
            if let done = request.argument("done").flatMap({ Int64($0) }) {
                html.notice("Recorded for \(Quantity.counted(done, "dead letter")).", .done)
            }
            html.element("p", [.class("lead")]) { html in
                html.text("Dead letters that look alike, refused for ")
                html.value("reason", .string(group.reason))
            }
            html.standing(standing)
            actions(&html, request, for: group)
            figures(&html, group)
            alike(&html, newest)
            html.element("section", [.class("card"), .label("Refused per hour")]) { html in
                html.element("h2", text: "Refused per hour, the last 7 days")
                chart.write(to: &html)
            }
            list(&html, letters, of: group)
        }
        return .page(page)
    }

    private func actions(_ html: inout HTML, _ request: ConsoleRequest, for group: DeadLetterGroup) {
        guard group.openLetters > 0 else {
            html.element("p", [.class("soft")], text: "None of its dead letters is open.")
            return
        }
        guard request.visitor.role >= .operator else { return }
        let open = LetterFilter([HTTPItem("group", group.id), HTTPItem("state", "open")], now: sources.now())
        DecisionForms.ofGroup(&html, open, count: group.openLetters, token: request.formToken)
    }

    private func figures(_ html: inout HTML, _ group: DeadLetterGroup) {
        let hours = DeadLetterGroupTable.trendHours
        html.figures { html in
            html.figure("Open", Quantity.grouped(group.openLetters)) {
                $0.text("of \(Quantity.grouped(group.letters))")
            }
            html.figure("Last \(hours) hours", Quantity.grouped(group.recent)) {
                $0.text("\(Quantity.grouped(group.before)) in the \(hours) hours before")
            }
            html.figure("First", Self.day(group.firstAt)) { $0.time(group.firstAt) }
            html.figure("Last", Self.day(group.lastAt)) { $0.time(group.lastAt) }
        }
    }

    private static func day(_ instant: Timestamp) -> String { String(instant.description.prefix(10)) }

    private func alike(_ html: inout HTML, _ letter: DeadLetterRow) {
        let guide = RefusalReason(rawValue: letter.reason).map { RefusalGuide($0) }
        html.card("Common properties") { html in
            html.facts([
                "reason": letter.reason, "class": letter.deadLetterClass, "rule": guide?.rule, "advice": guide?.advice,
                "certificates": letter.certificates, "bundle_id": letter.identifiers.bundleID,
                "source_topic": letter.source.position.topic, "producer": letter.producer,
            ])
        }
    }

    private func list(_ html: inout HTML, _ letters: [DeadLetterRow], of group: DeadLetterGroup) {
        let count = Quantity.grouped(group.letters)
        html.element("h2", text: "Its letters")
        let caption = "\(Quantity.grouped(letters.count)) of \(count) dead letters, the newest first"
        html.table(caption, letters, columns: DeadLetterRow.columns(topic: sources.topic.name), by: "id")
        html.element("p") { html in
            let link = LocalLink("search", query: [HTTPItem("group", group.id)])
            html.link("Search these \(count), or decide differently", to: link)
        }
    }
}
