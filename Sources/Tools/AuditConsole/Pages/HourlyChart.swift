import AppStore
import HTTP
import JSON
import Commands

/// Dead letters per hour by reason, as stacked bars and as a table.
struct HourlyChart: Sendable {
    struct Series: Sendable, Equatable {
        /// The reason.
        ///
        /// `nil` for the sum of all other reasons.
        let reason: String?
        /// Number of letters by the start of the hour in milliseconds; hours without letters are missing.
        let letters: [Int64: Int64]

        var name: String { reason ?? "other reasons" }
        var total: Int64 { letters.values.reduce(0, +) }
    }

    /// The starts of the hours in milliseconds, ascending.
    let hours: [Int64]
    /// The series of the most frequent reason first, that of the other reasons last.
    let series: [Series]

    static let hourMilliseconds: Int64 = 3_600_000
    static let seriesMax = 6

    /// The ends of the scale as percentages of the height from the top; the labels of the hours are below.
    private static let top = 4.0
    private static let bottom = 90.0

    private func total(_ hour: Int64) -> Int64 { series.reduce(0) { $0 + ($1.letters[hour] ?? 0) } }

    /// The largest value of the scale: a round number that no bar exceeds.
    var scale: Int64 { Self.roundScale(hours.map(total).max() ?? 0) }

    static func roundScale(_ largest: Int64) -> Int64 {
        var unit: Int64 = 1
        while true {
            for factor in [1, 2, 5] as [Int64] where largest <= unit * factor * 4 { return unit * factor * 4 }
            unit *= 10
        }
    }

    func write(to html: inout HTML) {
        html.element("figure", [.class("plain")]) { html in
            drawing(&html)
            html.element("ul", [.class("legend")]) { html in
                for (index, series) in series.enumerated() {
                    html.element("li") { html in
                        html.element("i", [.class(Self.colour(series, index))], text: "")
                        series.reason.map { html.value("reason", .string($0)) } ?? html.text(series.name)
                        html.text(" \(Quantity.grouped(series.total))")
                    }
                }
            }
        }
        html.element("details") { html in
            html.element("summary", text: "As a table")
            table(&html)
        }
    }

    /// Draws all hours of the chart in the width of the page.
    ///
    /// Positions are percentages, so that the text keeps its size at every width.
    private func drawing(_ html: inout HTML) {
        html.element("div", [.class("drawing")]) { html in
            let image = HTML.Attribute("role", "img")
            html.element("svg", [.class(isLong ? "chart long" : "chart"), image, .label(summary)]) { html in
                rules(&html)
                bars(&html)
                labels(&html)
            }
            let label = HTML.Attribute.label("Scale to \(Quantity.grouped(scale)) dead letters")
            html.element("svg", [.class("scale"), image, label]) { html in
                for letters in steps {
                    let place = [
                        HTML.Attribute("x", "0"), HTML.Attribute("y", Self.percent(y(letters))),
                        HTML.Attribute("dy", "4"),
                    ]
                    html.element("text", place, text: Quantity.grouped(letters))
                }
            }
        }
    }

    /// Whether there is room only for labels of days, not of hours.
    private var isLong: Bool { hours.count > 48 }

    private var steps: [Int64] { (0...4).map { scale / 4 * $0 } }

    private var summary: String {
        let parts = series.map { "\($0.name) \(Quantity.grouped($0.total))" }
        return "Dead letters per hour, \(hours.count) hours: "
            + (parts.isEmpty ? "none" : parts.joined(separator: ", "))
    }

    private static func colour(_ series: Series, _ index: Int) -> String {
        series.reason == nil ? "s\(seriesMax)" : "s\(index)"
    }

    private func y(_ letters: Int64) -> Double {
        Self.bottom - (Self.bottom - Self.top) * Double(letters) / Double(scale)
    }

    private func rules(_ html: inout HTML) {
        for letters in steps {
            let height = Self.percent(y(letters))
            html.element(
                "line",
                [
                    .class("rule"), HTML.Attribute("x1", "0"), HTML.Attribute("x2", "100%"),
                    HTML.Attribute("y1", height), HTML.Attribute("y2", height),
                ], text: "")
        }
    }

    /// The width of an hour, in percent.
    private var step: Double { 100 / Double(max(hours.count, 1)) }

    private func bars(_ html: inout HTML) {
        let bar = step * 0.82
        for (column, hour) in hours.enumerated() {
            var below: Int64 = 0
            let x = Double(column) * step + (step - bar) / 2
            for (index, series) in series.enumerated() {
                guard let letters = series.letters[hour], letters > 0 else { continue }
                let top = y(below + letters)
                let rectangle: [HTML.Attribute] = [
                    .class(Self.colour(series, index)), HTML.Attribute("x", Self.percent(x)),
                    HTML.Attribute("y", Self.percent(top)), HTML.Attribute("width", Self.percent(bar)),
                    HTML.Attribute("height", Self.percent(max(0.2, y(below) - top))),
                ]
                html.element("rect", rectangle) { html in
                    let count = "\(series.name): \(Quantity.grouped(letters))"
                    html.element("title", text: "\(Self.hourText(hour)) \(count)")
                }
                below += letters
            }
        }
    }

    /// Writes the day at each midnight, and hours in between if there is room.
    private func labels(_ html: inout HTML) {
        for (column, hour) in hours.enumerated() {
            let ofDay = hour / Self.hourMilliseconds % 24
            guard isLong ? ofDay == 0 : ofDay.isMultiple(of: 4) else { continue }
            let whole = Self.hourText(hour)
            html.element(
                "text",
                [
                    HTML.Attribute("x", Self.percent((Double(column) + 0.5) * step)), HTML.Attribute("y", "98%"),
                    HTML.Attribute("text-anchor", "middle"),
                ] + (ofDay == 0 ? [.class("day")] : []),
                text: String(ofDay == 0 ? whole.prefix(10).suffix(5) : whole.suffix(5)))
        }
    }

    private func table(_ html: inout HTML) {
        let columns: [ReportColumn<Int64>] =
            [.words("hour (UTC)") { Self.hourText($0) }]
            + series.map { series in .init(series.name, title: series.name) { series.letters[$0] ?? 0 } } + [
                .init("all") { total($0) }
            ]
        html.table(
            "Dead letters per hour by reason; hours without any are left out",
            hours.reversed().filter { total($0) > 0 }, columns: columns)
    }

    /// The start of an hour, such as `2026-01-31 12:00`.
    private static func hourText(_ hour: Int64) -> String {
        let text = Timestamp(milliseconds: hour).description
        return String(text.prefix(16).map { $0 == "T" ? " " : $0 })
    }

    /// Formats a percentage with two decimals.
    private static func percent(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)%"
    }
}
