/// PostgreSQL's binary format: integers big-endian, every field preceded by its length.
extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { bytes in
            unsafe append(contentsOf: bytes)
        }
    }

    /// Appends what `body` writes, preceded by its length in bytes.
    mutating func appendLengthPrefixed(_ body: (inout [UInt8]) -> Void) {
        let start = count
        append(bigEndian: Int32(0))
        body(&self)
        let length = UInt32(truncatingIfNeeded: count - start - 4)
        for index in 0..<4 {
            self[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index))
        }
    }

    mutating func append(periods: [PostgresPeriod]) {
        append(bigEndian: Int32(truncatingIfNeeded: periods.count))
        for period in periods {
            appendLengthPrefixed { $0.append(period: period) }
        }
    }

    /// The flags are `rangetypes.h`'s: 0x02 for an included lower bound, 0x10 for no upper bound.
    private mutating func append(period: PostgresPeriod) {
        append(period.endMilliseconds == nil ? 0x12 : 0x02)
        append(timestamp: period.startMilliseconds)
        if let end = period.endMilliseconds {
            append(timestamp: end)
        }
    }

    private mutating func append(timestamp milliseconds: Int64) {
        append(bigEndian: Int32(8))
        append(
            bigEndian: PostgresTimestamp.microseconds(fromUNIXMilliseconds: milliseconds)
        )
    }
}
