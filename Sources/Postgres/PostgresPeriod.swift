/// A span of time, start included and end excluded, in UNIX milliseconds; no end means for ever.
///
/// Several of them are one `tstzmultirange`.
package struct PostgresPeriod: Hashable, Sendable {
    package let startMilliseconds: Int64
    package let endMilliseconds: Int64?

    package init(startMilliseconds: Int64, endMilliseconds: Int64?) {
        self.startMilliseconds = startMilliseconds
        self.endMilliseconds = endMilliseconds
    }
}

/// PostgreSQL's `timestamptz`: microseconds since 2000-01-01.
enum PostgresTimestamp {
    static let epochMilliseconds: Int64 = 946_684_800_000

    /// The first and last whole millisecond that a `timestamptz` can hold (4714 BC to 294276 AD).
    static let milliseconds: ClosedRange<Int64> = -210_866_803_200_000...9_224_318_015_999_999

    /// A time outside of what the server can hold becomes the nearest that it can.
    static func microseconds(fromUNIXMilliseconds time: Int64) -> Int64 {
        let bounded = min(max(time, milliseconds.lowerBound), milliseconds.upperBound)
        return (bounded - epochMilliseconds) * 1000
    }

    /// The whole millisecond at or before the time; the infinities map to the ends of `Int64`.
    static func unixMilliseconds(fromMicroseconds time: Int64) -> Int64 {
        if time == .max || time == .min {
            return time
        }
        let (quotient, remainder) = time.quotientAndRemainder(dividingBy: 1000)
        return quotient - (remainder < 0 ? 1 : 0) + epochMilliseconds
    }
}
