/// A certificate's date in the form that RFC 5280 §4.1.2.5 allows.
///
/// The form is `YYMMDDHHMMSSZ` as UTCTime for 1950 to 2049, and `YYYYMMDDHHMMSSZ` as GeneralizedTime for all other
/// years: always with seconds, without fraction or offset.
enum CertificateDate {
    /// Seconds since 1970 in UTC.
    ///
    /// `nil` for any other form, or for a day or time that does not exist.
    static func seconds(fromUTCTime text: Span<UInt8>) -> Int64? {
        guard text.count == "YYMMDDHHMMSSZ".utf8.count, let year = number(in: text, at: 0, digits: 2) else {
            return nil
        }
        return seconds(year: year >= 50 ? 1900 + year : 2000 + year, text, monthAt: 2)
    }

    /// Seconds since 1970 in UTC.
    ///
    /// `nil` for any other form, for a year of UTCTime, or for a day or time that does not exist.
    static func seconds(fromGeneralizedTime text: Span<UInt8>) -> Int64? {
        guard text.count == "YYYYMMDDHHMMSSZ".utf8.count, let year = number(in: text, at: 0, digits: 4),
            !(1950..<2050).contains(year)
        else { return nil }
        return seconds(year: year, text, monthAt: 4)
    }

    /// Reads `MMDDHHMMSSZ` from `start`.
    private static func seconds(year: Int, _ text: Span<UInt8>, monthAt start: Int) -> Int64? {
        guard let month = number(in: text, at: start, digits: 2), (1...12).contains(month),
            let day = number(in: text, at: start + 2, digits: 2),
            (1...CivilDate.daysInMonth(month, of: year)).contains(day),
            let hour = number(in: text, at: start + 4, digits: 2), hour < 24,
            let minute = number(in: text, at: start + 6, digits: 2), minute < 60,
            let second = number(in: text, at: start + 8, digits: 2), second < 60, text[start + 10] == UInt8(ascii: "Z")
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSinceEpoch
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
}
