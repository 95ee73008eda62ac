import Foundation

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
