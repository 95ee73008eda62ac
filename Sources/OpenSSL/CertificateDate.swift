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

extension CertificateDate {
    /// The canonical text of an instant: 13 characters of UTCTime from 1950 to 2049, else 15 of
    /// GeneralizedTime.
    static func text(_ seconds: Int64) -> String {
        let (days, second) = seconds.quotientAndRemainder(dividingByFloor: 86_400)
        let date = civilDate(daysSince1970: Int(days))
        let year =
            (1950..<2050).contains(date.year)
            ? digits(date.year % 100, 2) : digits(date.year, 4)
        let time = [second / 3_600, second / 60 % 60, second % 60].map { digits(Int($0), 2) }
        return year + digits(date.month, 2) + digits(date.day, 2) + time.joined() + "Z"
    }

    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }

    /// The inverse of `daysSince1970`, by the same eras.
    private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
            month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }
}

extension Int64 {
    /// Quotient toward −∞, and a remainder that is never negative.
    fileprivate func quotientAndRemainder(
        dividingByFloor divisor: Int64
    ) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
