import AppStore
import Commands
import DeadLetters
import HTTP
import Store

/// Recent refusals, open letters, and the largest groups.
struct OverviewPage: Sendable {
    let sources: ConsoleSources

    private static let groupsMax = 10
    private static let spans = [(hours: 24, name: "24 hours"), (hours: 168, name: "7 days")]

    private struct Contents: Sendable {
        let now: Timestamp
        let span: (hours: Int, name: String)
        let open: Int64
        let oldestOpen: Timestamp?
        let refused: Int64
        let classes: [DeadLetterCounts.Count]
        let chart: HourlyChart
        let groups: [DeadLetterGroup]
        let standing: IndexStanding
    }

    func answer(_ request: ConsoleRequest) async throws -> ConsoleResponse {
        let hours = request.argument("hours").flatMap { Int($0) }
        let span = Self.spans.first { $0.hours == hours } ?? Self.spans[0]
        return .page(page(try await contents(span)))
    }

    private func contents(_ span: (hours: Int, name: String)) async throws -> Contents {
        let now = sources.now()
        let database = sources.database
        var open = DeadLetterQuery()
        open.states = [.open]
        var recent = DeadLetterQuery()
        recent.since = HourlyChart.start(of: span.hours, now: now)
        return Contents(
            now: now, span: span, open: try await DeadLetterCounts.count(open, on: database),
            oldestOpen: try await DeadLetterCounts.oldest(open, on: database),
            refused: try await DeadLetterCounts.count(recent, on: database),
            classes: try await DeadLetterCounts.counts(by: .deadLetterClass, recent, limit: 8, on: database),
            chart: try await HourlyChart(recent, span.hours, now: now, on: database),
            groups: try await DeadLetterGroupTable.largest(open, now: now, limit: Self.groupsMax, on: database),
            standing: try await sources.standing())
    }

    private func page(_ contents: Contents) -> Page {
        Page("Overview", section: .overview) { html in
            html.element("h1", text: "Overview")
            html.live("overview") { html in
                html.standing(contents.standing)
                html.element("p", [.class("lead")]) { html in
                    html.text("The last ")
                    for (index, span) in Self.spans.enumerated() {
                        if index > 0 { html.text(" · ") }
                        guard span.hours != contents.span.hours else {
                            html.element("b", text: span.name)
                            continue
                        }
                        let hours = HTTPItem("hours", String(span.hours))
                        html.link(span.name, to: LocalLink(query: [hours]))
                    }
                }
                figures(&html, contents)
                html.element("section", [.class("card"), .label("Refused per hour")]) { html in
                    html.element("h2", text: "Refused per hour, by reason")
                    contents.chart.write(to: &html)
                }
                html.element("h2", text: "Largest groups with open dead letters")
                guard !contents.groups.isEmpty else {
                    html.element("p", [.class("soft")], text: "Nothing is open.")
                    return
                }
                html.table(
                    "Dead letters that look alike", contents.groups, columns: DeadLetterGroup.columns, by: "group")
            }
        }
    }

    private func figures(_ html: inout HTML, _ contents: Contents) {
        html.figures { html in
            html.figure("Open", Quantity.grouped(contents.open)) { html in
                html.link("Show them", to: LocalLink("search", query: [HTTPItem("state", "open")]))
            }
            html.figure("Oldest open", age(contents)) { html in
                if let oldest = contents.oldestOpen {
                    html.text("failed ")
                    html.time(oldest)
                } else {
                    html.text("nothing is open")
                }
            }
            html.figure("Refused", Quantity.grouped(contents.refused)) { html in
                html.text("in the last \(contents.span.name)")
            }
            let chains = sources.chains.state
            html.figure("Share of all bodies", share(chains)) { html in
                guard let traffic = chains?.report?.traffic, traffic.bodies > 0 else {
                    return html.text("the workers' counts are not read yet")
                }
                html.text(
                    "\(Quantity.grouped(traffic.deadLettered)) of "
                        + "\(Quantity.grouped(traffic.bodies)) that verify-worker had counted ")
                if let at = chains?.at { html.time(at) }
            }
            html.figure("Hash chains", chainWord(chains)) { html in
                guard let chains else { return html.text("the first check is under way") }
                if let at = chains.at {
                    html.text("checked ")
                    html.time(at)
                    html.text("; ")
                }
                if let failedAt = chains.failedAt {
                    html.text("not read at the last attempt, ")
                    html.time(failedAt)
                    html.text("; ")
                }
                html.text("dead-letter verify names each finding")
            }
            html.figure("Refused as forged", Quantity.grouped(forged(contents))) { html in
                let rest = contents.classes.filter { $0.value != "forged" }.compactMap { count in
                    count.value.map { "\(Quantity.grouped(count.letters)) \($0)" }
                }
                html.foreign(rest.isEmpty ? "no others" : rest.joined(separator: ", "))
            }
        }
    }

    private func chainWord(_ state: ChainWatch.State?) -> String {
        guard let state else { return "…" }
        guard let report = state.report else { return "not read" }
        return report.isIntact ? "intact" : Quantity.counted(report.findings.count, "finding")
    }

    private func share(_ state: ChainWatch.State?) -> String {
        guard let share = state?.report?.traffic.deadLetterShare else { return "…" }
        let tenths = Int64((share * 1_000).rounded())
        guard tenths > 0 || share == 0 else { return "< 0.1 %" }
        return "\(tenths / 10).\(tenths % 10) %"
    }

    private func forged(_ contents: Contents) -> Int64 { contents.classes.first { $0.value == "forged" }?.letters ?? 0 }

    private func age(_ contents: Contents) -> String {
        guard let oldest = contents.oldestOpen else { return "–" }
        let minutes = max(0, contents.now.milliseconds - oldest.milliseconds) / 60_000
        if minutes < 120 { return "\(minutes) min" }
        return minutes < 48 * 60 ? "\(minutes / 60) h" : "\(minutes / 1440) days"
    }
}

extension HTML {
    /// Figures in one row, or in even rows on a narrower page.
    mutating func figures(_ content: (inout HTML) -> Void) { element("div", [.class("figures")], content: content) }

    /// A number with its name above and a remark below.
    mutating func figure(_ label: String, _ number: String, remark: (inout HTML) -> Void) {
        element("div", [.class("card figure")]) { html in
            html.element("span", [.class("label")], text: label)
            html.element("b", text: number)
            html.element("span", content: remark)
        }
    }
}
