import Foundation
import Settings

/// An instant as operators write it.
enum Instant {
    /// Reads `2026-12-31` (its beginning in UTC) or `2026-12-31T12:00:00Z`, as UNIX milliseconds.
    static func parse(_ text: String, option: String) throws(UsageError) -> Int64 {
        let day = Date.ISO8601FormatStyle().year().month().day()
        let instant = Date.ISO8601FormatStyle()
        for style in [instant, instant.fractionalSeconds(), day] {
            guard let date = try? style.parse(text) else { continue }
            // A day's style reads the beginning of what is longer too.
            guard style != day || text.count == "2026-12-31".count else { continue }
            return Int64((date.timeIntervalSince1970 * 1_000).rounded())
        }
        throw UsageError(
            "--\(option): expected a date such as 2026-12-31 or 2026-12-31T12:00:00Z, found "
                + "\"\(text)\""
        )
    }
}

extension Date.ISO8601FormatStyle {
    /// The same with a fraction of a second.
    fileprivate func fractionalSeconds() -> Date.ISO8601FormatStyle {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    }
}
