/// An instant in UNIX milliseconds, as Apple's payloads write dates.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The first instant of year 1.
    package static let earliest = Timestamp(milliseconds: -62_135_596_800_000)
    /// The last millisecond of year 9999.
    package static let latest = Timestamp(milliseconds: 253_402_300_799_999)

    /// Whether the date lies in the years 1 to 9999, which every reader of the database can hold.
    package var isStorable: Bool {
        Timestamp.earliest <= self && self <= .latest
    }

    /// UNIX seconds, rounded down: receipts know dates no finer than that.
    package var wholeSeconds: Int64 {
        milliseconds.flooredQuotient(by: 1000)
    }
}

extension Int64 {
    /// The quotient rounded toward −∞.
    func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
