import AppStore
import Foundation
package import JSON

/// Numbers and times as people read them, the same in every locale.
package enum Quantity {
    /// `1234567` as `1,234,567`.
    package static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) {
                text.append(",")
            }
            text.append(digit)
        }
        return text
    }

    /// `1 body`, `2 bodies`.
    package static func counted(
        _ number: some BinaryInteger,
        _ one: String,
        _ many: String? = nil
    ) -> String {
        "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// A span of time by its two greatest units, rounded down: `850 ms`, `42 s`, `3 min 5 s`.
    package static func span(milliseconds: Int64) -> String {
        guard milliseconds >= 1_000 else { return "\(milliseconds) ms" }
        let seconds = milliseconds / 1_000
        let units: [(name: String, seconds: Int64)] = [
            ("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1),
        ]
        guard let first = units.firstIndex(where: { seconds >= $0.seconds }) else { return "0 s" }
        let greater = "\(seconds / units[first].seconds) \(units[first].name)"
        guard first + 1 < units.count else { return greater }
        let rest = seconds % units[first].seconds / units[first + 1].seconds
        return rest == 0 ? greater : "\(greater) \(rest) \(units[first + 1].name)"
    }

    /// Bytes by the greatest binary unit that leaves a number of 1 or more: `5.4 KiB`.
    package static func bytes(_ count: Int) -> String {
        guard count >= 1_024 else { return "\(count) B" }
        let (unit, size) = count >= 1_048_576 ? ("MiB", 1_048_576) : ("KiB", 1_024)
        let tenths = count * 10 / size
        return tenths.isMultiple(of: 10)
            ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}

/// A date as the tools print it: UTC, to the second.
package enum CalendarDate {
    private static let format = Date.ISO8601FormatStyle(timeZone: .gmt)
    private static let day = Date.VerbatimFormatStyle(
        format: "\(year: .defaultDigits)-\(month: .twoDigits)-\(day: .twoDigits)",
        timeZone: .gmt,
        calendar: Calendar(identifier: .gregorian)
    )

    /// `2026-01-31T10:00:00Z`, of UNIX milliseconds.
    package static func instant(milliseconds: Int64) -> String {
        date(milliseconds).formatted(format)
    }

    /// `2026-01-31`, of UNIX milliseconds.
    package static func day(milliseconds: Int64) -> String {
        date(milliseconds).formatted(day)
    }

    private static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}

extension JSONWriter {
    package mutating func member(_ key: StaticString, _ text: String?) {
        self.key(key)
        if let text {
            string(text)
        } else {
            null()
        }
    }

    mutating func member(_ key: StaticString, _ identifier: Identifier?) {
        member(key, identifier?.text)
    }

    package mutating func member(_ key: StaticString, _ number: some BinaryInteger) {
        self.key(key)
        int(number)
    }

    package mutating func member(_ key: StaticString, _ truth: Bool) {
        self.key(key)
        bool(truth)
    }

    package mutating func strings(_ texts: [String]) {
        array { writer in
            for text in texts {
                writer.string(text)
            }
        }
    }
}
