/// Bounds of the numbers that brokers, producers and other programs send.
///
/// A producer may give its record any time, and a program that may commit for a group may commit any offset. Received
/// numbers are clamped to these bounds, so that neither a sum over all partitions of a topic nor the difference of two
/// sums overflows.
package enum KafkaBounds {
    /// Offsets, and counts of records.
    ///
    /// A partition with a million records a second reaches the end after 35 years.
    package static let offsets: ClosedRange<Int64> = 0...1 << 50

    /// UNIX milliseconds, from 1970 to the end of the year 9999.
    package static let times: ClosedRange<Int64> = 0...253_402_300_799_999

    static func offset(_ number: Int64) -> Int64 { min(max(number, offsets.lowerBound), offsets.upperBound) }

    /// The time of a record.
    ///
    /// `nil` if the record has no time: no producer may write a time before 1970.
    static func time(_ milliseconds: Int64) -> Int64? {
        milliseconds < times.lowerBound ? nil : min(milliseconds, times.upperBound)
    }
}
