/// A certificate's date in the one form RFC 5280 §4.1.2.5 allows.
///
/// `YYMMDDHHMMSSZ` as UTCTime for 1950 to 2049, `YYYYMMDDHHMMSSZ` as GeneralizedTime for all other
/// years: seconds always, no fraction, no offset.
enum CertificateDate {
    /// Seconds since 1970; nil for another form or a day that no calendar has.
    static func seconds(fromUTCTime text: Span<UInt8>) -> Int64? {
        guard text.count == 13, let short = number(in: text, at: 0, digits: 2) else { return nil }
        return seconds(year: short >= 50 ? 1900 + short : 2000 + short, rest: text, from: 2)
    }

    /// Seconds since 1970; nil for another form, a year that UTCTime covers, or no such day.
    static func seconds(fromGeneralizedTime text: Span<UInt8>) -> Int64? {
        guard text.count == 15, let year = number(in: text, at: 0, digits: 4),
            !(1950..<2050).contains(year)
        else { return nil }
        return seconds(year: year, rest: text, from: 4)
    }

    private static func seconds(year: Int, rest text: Span<UInt8>, from start: Int) -> Int64? {
        guard
            let month = number(in: text, at: start, digits: 2), (1...12).contains(month),
            let day = number(in: text, at: start + 2, digits: 2),
            (1...days(inMonth: month, of: year)).contains(day),
            let hour = number(in: text, at: start + 4, digits: 2), hour < 24,
            let minute = number(in: text, at: start + 6, digits: 2), minute < 60,
            let second = number(in: text, at: start + 8, digits: 2), second < 60,
            text[start + 10] == UInt8(ascii: "Z")
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        return Int64(((days * 24 + hour) * 60 + minute) * 60 + second)
    }

    private static func number(in text: Span<UInt8>, at start: Int, digits: Int) -> Int? {
        var value = 0
        for index in start..<start + digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[index]) else { return nil }
            value = value * 10 + Int(text[index] - UInt8(ascii: "0"))
        }
        return value
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// Counts in eras of 400 years that begin on 1 March, so that the leap day is the last one.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
