extension Timestamp: CustomStringConvertible {
    package static let millisecondsPerDay: Int64 = 86_400_000

    /// ISO 8601 in UTC; milliseconds only where there are any.
    package var description: String {
        let days = milliseconds.flooredQuotient(by: Self.millisecondsPerDay)
        let date = CivilDate(daysSinceEpoch: Int(days))
        let rest = Int(milliseconds - days * Self.millisecondsPerDay)
        let (seconds, fraction) = rest.quotientAndRemainder(dividingBy: 1000)
        let day =
            Self.digits(date.year, 4) + "-" + Self.digits(date.month, 2) + "-"
            + Self.digits(date.day, 2)
        let time =
            Self.digits(seconds / 3600, 2) + ":" + Self.digits(seconds / 60 % 60, 2) + ":"
            + Self.digits(seconds % 60, 2)
        return day + "T" + time + (fraction == 0 ? "" : "." + Self.digits(fraction, 3)) + "Z"
    }

    /// Reads `2026-01-31`, `2026-01-31T12:00:00Z` or `2026-01-31T12:00:00.123Z`; nothing else.
    package init?(iso8601 text: String) {
        let bytes = Array(text.utf8)
        guard let days = Self.days(bytes) else { return nil }
        guard bytes.count > Self.dateLength else {
            milliseconds = days * Self.millisecondsPerDay
            return
        }
        guard let time = Self.millisecondsOfDay(bytes[Self.dateLength...]) else { return nil }
        milliseconds = days * Self.millisecondsPerDay + time
    }

    private static let dateLength = 10

    /// Of the date that the text begins with; nil where it begins with none.
    static func days(_ bytes: [UInt8]) -> Int64? {
        guard bytes.count >= dateLength, bytes[4] == UInt8(ascii: "-"),
            bytes[7] == UInt8(ascii: "-"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), year >= 1, (1...12).contains(month),
            (1...CivilDate.daysInMonth(month, of: year)).contains(day)
        else { return nil }
        return Int64(CivilDate(year: year, month: month, day: day).daysSinceEpoch)
    }

    /// `T12:00:00Z` or `T12:00:00.123Z`.
    private static func millisecondsOfDay(_ slice: ArraySlice<UInt8>) -> Int64? {
        let bytes = Array(slice)
        guard bytes.count == 10 || bytes.count == 14, bytes.first == UInt8(ascii: "T"),
            bytes.last == UInt8(ascii: "Z"), bytes[3] == UInt8(ascii: ":"),
            bytes[6] == UInt8(ascii: ":"),
            let hour = number(bytes[1..<3]), let minute = number(bytes[4..<6]),
            let second = number(bytes[7..<9]), hour < 24, minute < 60, second < 60
        else { return nil }
        let whole = Int64((hour * 60 + minute) * 60 + second) * 1000
        guard bytes.count == 14 else { return whole }
        guard bytes[9] == UInt8(ascii: "."), let fraction = number(bytes[10..<13]) else {
            return nil
        }
        return whole + Int64(fraction)
    }

    static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value
    }

    private static func digits(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
