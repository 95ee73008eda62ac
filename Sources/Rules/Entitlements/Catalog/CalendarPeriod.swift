package import AppStore
import OpenSSL

/// A calendar duration in UTC, written as ISO 8601 (`P1M`, `P1Y6M`, `P2W`).
package struct CalendarPeriod: Hashable, Sendable {
    package let months: Int
    package let days: Int

    /// Reads a period from ISO 8601.
    ///
    /// `nil` unless the text is `P` with at least one of years, months, weeks and days, in that order, and the total
    /// is more than zero and at most a hundred years.
    package init?(iso8601 text: String) {
        var rest = Substring(text)
        guard rest.popFirst() == "P", !rest.isEmpty else { return nil }
        var designators = Substring("YMWD")
        var amounts: [Character: Int] = [:]
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty, digits.count <= 5, let amount = Int(digits) else { return nil }
            rest = rest.dropFirst(digits.count)
            guard let designator = rest.popFirst(), let place = designators.firstIndex(of: designator) else {
                return nil
            }
            designators = designators[designators.index(after: place)...]
            amounts[designator] = amount
        }
        months = (amounts["Y"] ?? 0) * 12 + (amounts["M"] ?? 0)
        days = (amounts["W"] ?? 0) * 7 + (amounts["D"] ?? 0)
        guard months > 0 || days > 0, months <= 1200, days <= 36_525 else { return nil }
    }

    /// The period in ISO 8601, in years, months and days.
    package var iso8601: String {
        let parts = [(months / 12, "Y"), (months % 12, "M"), (days, "D")]
        return "P" + parts.map { $0 > 0 ? "\($0)\($1)" : "" }.joined()
    }

    /// The instant this many periods later, at the same time of day.
    ///
    /// If the month lacks the day, the result is the month's last day; a result after year 9999 is that year's last
    /// millisecond.
    package func added(to start: Timestamp, times: Int32) -> Timestamp {
        let startDays = Int(start.milliseconds.flooredDays)
        let timeOfDay = start.milliseconds - Int64(startDays) * Timestamp.millisecondsPerDay
        let date = CivilDate(daysSinceEpoch: startDays)
        let monthCount = date.year * 12 + date.month - 1 + months * Int(times)
        let year = monthCount.flooredQuotient(by: 12)
        guard year <= 9999 else { return .latest }
        let month = monthCount - year * 12 + 1
        let day = min(date.day, CivilDate.daysInMonth(month, of: year))
        let target = CivilDate(year: year, month: month, day: day).daysSinceEpoch
        let endDays = Int64(target) + Int64(days) * Int64(times)
        guard endDays <= Timestamp.latest.milliseconds / Timestamp.millisecondsPerDay else { return .latest }
        let end = Timestamp(milliseconds: endDays * Timestamp.millisecondsPerDay + timeOfDay)
        return min(end, .latest)
    }
}

extension Int {
    fileprivate func flooredQuotient(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Int64 {
    fileprivate var flooredDays: Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: Timestamp.millisecondsPerDay)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
