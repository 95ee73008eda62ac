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
