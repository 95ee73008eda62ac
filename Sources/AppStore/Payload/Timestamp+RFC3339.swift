extension Timestamp {
    /// Reads a date as receipts write it (RFC 3339 §5.6), and as Xcode does: with or without a
    /// fraction, the offset with or without its colon, `T` and `Z` in either case.
    ///
    /// Fractions round down to milliseconds. Nil for anything else, and for a date outside the
    /// years 1 to 9999.
    package init?(rfc3339 text: [UInt8]) {
        guard text.count >= Self.secondsLength, let days = Self.days(text),
            let seconds = Self.secondsOfDay(text),
            let zone = text[Self.secondsLength...].firstIndex(where: Self.beginsZone),
            let fraction = Self.milliseconds(fraction: text[Self.secondsLength..<zone]),
            let offset = Self.offsetMinutes(text[zone...])
        else { return nil }
        milliseconds = days * Self.millisecondsPerDay + (seconds - offset * 60) * 1000 + fraction
        guard isStorable else { return nil }
    }

    /// `2026-01-31T12:00:00`.
    private static let secondsLength = 19

    private static func beginsZone(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "Z") || byte == UInt8(ascii: "z") || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: "-")
    }

    private static func secondsOfDay(_ text: [UInt8]) -> Int64? {
        guard text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: "t"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let hour = number(text[11..<13]), let minute = number(text[14..<16]),
            let second = number(text[17..<19]), hour < 24, minute < 60, second < 60
        else { return nil }
        return Int64((hour * 60 + minute) * 60 + second)
    }

    /// - Parameter fraction: empty, or a point and digits.
    private static func milliseconds(fraction: ArraySlice<UInt8>) -> Int64? {
        guard let point = fraction.first else { return 0 }
        let digits = fraction.dropFirst()
        guard point == UInt8(ascii: "."), !digits.isEmpty,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        let padded = Array(digits.prefix(3)) + Array(repeating: UInt8(ascii: "0"), count: 3)
        return number(padded[..<3]).map { Int64($0) }
    }

    /// `Z`, `+01:00` or `+0100`; minutes east of UTC.
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
