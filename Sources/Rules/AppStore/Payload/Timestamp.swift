import OpenSSL

/// An instant in UNIX milliseconds, like Apple's dates, within the years 1 to 9999.
///
/// Every reader of the database can represent such an instant. Neither the difference of two instants nor the sum of
/// an instant and some thousand years overflows.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    /// Clamps a number outside the years 1 to 9999 to their first or last instant.
    package init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.bounds.lowerBound), Self.bounds.upperBound)
    }

    /// Accepts a number within the years 1 to 9999.
    ///
    /// `nil` for any other number.
    package init?(boundedMilliseconds milliseconds: Int64) {
        guard Self.bounds.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// The milliseconds from the first instant of year 1 to the end of year 9999.
    package static let bounds: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
    package static let earliest = Timestamp(milliseconds: bounds.lowerBound)
    package static let latest = Timestamp(milliseconds: bounds.upperBound)

    /// The UNIX seconds, rounded down: receipts have no finer dates.
    package var wholeSeconds: Int64 { milliseconds.flooredQuotient(by: 1000) }
}

extension Int64 {
    /// Returns the quotient rounded toward −∞.
    func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Timestamp: CustomStringConvertible {
    package static let millisecondsPerDay: Int64 = 86_400_000

    /// The instant as ISO 8601 in UTC, with milliseconds only if they are not zero.
    package var description: String {
        let days = milliseconds.flooredQuotient(by: Self.millisecondsPerDay)
        let date = CivilDate(daysSinceEpoch: Int(days))
        let rest = Int(milliseconds - days * Self.millisecondsPerDay)
        let (seconds, fraction) = rest.quotientAndRemainder(dividingBy: 1000)
        let day = Self.digits(date.year, 4) + "-" + Self.digits(date.month, 2) + "-" + Self.digits(date.day, 2)
        let time =
            Self.digits(seconds / 3600, 2) + ":" + Self.digits(seconds / 60 % 60, 2) + ":"
            + Self.digits(seconds % 60, 2)
        return day + "T" + time + (fraction == 0 ? "" : "." + Self.digits(fraction, 3)) + "Z"
    }

    /// The day in UTC, such as `2026-01-31`.
    package var day: String { String(description.prefix(Self.dateLength)) }

    /// The same instant without its fraction of a second.
    package var toSecond: Timestamp { Timestamp(milliseconds: wholeSeconds * 1000) }

    /// Reads only `2026-01-31`, `2026-01-31T12:00:00Z` or `2026-01-31T12:00:00.123Z`.
    package init?(iso8601 text: String) {
        let bytes = Array(text.utf8)
        if bytes.count == Self.dateLength {
            guard let days = Self.days(bytes) else { return nil }
            self.init(milliseconds: days * Self.millisecondsPerDay)
            return
        }
        guard bytes.count == 20 || bytes.count == 24, bytes[Self.dateLength] == UInt8(ascii: "T"),
            bytes.last == UInt8(ascii: "Z")
        else { return nil }
        self.init(rfc3339: bytes)
    }

    private static let dateLength = 10

    /// The days since 1970 of the date at the start of the text.
    ///
    /// `nil` if there is no date.
    static func days(_ bytes: [UInt8]) -> Int64? {
        guard bytes.count >= dateLength, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            year >= 1, (1...12).contains(month), (1...CivilDate.daysInMonth(month, of: year)).contains(day)
        else { return nil }
        return Int64(CivilDate(year: year, month: month, day: day).daysSinceEpoch)
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

extension Timestamp {
    /// Reads a date in the formats of receipts (RFC 3339 §5.6) and of Xcode: with or without a fraction, with or
    /// without a colon in the offset, and with `T` and `Z` in either case.
    ///
    /// Fractions are rounded down to milliseconds. `nil` for any other text, and for a date outside the years 1 to
    /// 9999.
    package init?(rfc3339 text: [UInt8]) {
        guard text.count >= Self.secondsLength, let days = Self.days(text), let seconds = Self.secondsOfDay(text),
            let zone = text[Self.secondsLength...].firstIndex(where: Self.beginsZone),
            let fraction = Self.milliseconds(fraction: text[Self.secondsLength..<zone]),
            let offset = Self.offsetMinutes(text[zone...])
        else { return nil }
        self.init(boundedMilliseconds: days * Self.millisecondsPerDay + (seconds - offset * 60) * 1000 + fraction)
    }

    /// The length of `2026-01-31T12:00:00`.
    private static let secondsLength = 19

    private static func beginsZone(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "Z") || byte == UInt8(ascii: "z") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
    }

    private static func secondsOfDay(_ text: [UInt8]) -> Int64? {
        guard text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: "t"), text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":"), let hour = number(text[11..<13]), let minute = number(text[14..<16]),
            let second = number(text[17..<19]), hour < 24, minute < 60, second < 60
        else { return nil }
        return Int64((hour * 60 + minute) * 60 + second)
    }

    /// - Parameter fraction: an empty text, or a point and digits.
    private static func milliseconds(fraction: ArraySlice<UInt8>) -> Int64? {
        guard let point = fraction.first else { return 0 }
        let digits = fraction.dropFirst()
        guard point == UInt8(ascii: "."), !digits.isEmpty,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        let padded = Array(digits.prefix(3)) + Array(repeating: UInt8(ascii: "0"), count: 3)
        return number(padded[..<3]).map { Int64($0) }
    }

    /// The minutes east of UTC from `Z`, `+01:00` or `+0100`.
    private static func offsetMinutes(_ zone: ArraySlice<UInt8>) -> Int64? {
        let zone = Array(zone)
        if zone == [UInt8(ascii: "Z")] || zone == [UInt8(ascii: "z")] { return 0 }
        let hasColon = zone.count == 6 && zone[3] == UInt8(ascii: ":")
        guard hasColon || zone.count == 5, let hours = number(zone[1..<3]),
            let minutes = number(zone[(zone.count - 2)...]), hours < 24, minutes < 60
        else { return nil }
        let offset = Int64(hours * 60 + minutes)
        return zone[0] == UInt8(ascii: "-") ? -offset : offset
    }
}
