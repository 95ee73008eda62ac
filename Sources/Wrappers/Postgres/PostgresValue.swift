import CLibPQ

/// A parameter of a statement, sent in PostgreSQL's binary format and never part of the SQL.
package enum PostgresValue: Sendable {
    /// A null of the type that the statement requires at this position.
    case null
    case bool(Bool)
    case int8(Int64)
    case float8(Double)
    case text(String)
    case textBytes([UInt8])
    case json([UInt8])
    case bytea([UInt8])
    case timestamptz(milliseconds: Int64)
    case period(PostgresPeriod)
    case periods([PostgresPeriod])
    case array(PostgresArray)

    package static func textArray(_ values: [String?]) -> PostgresValue {
        var array = PostgresArray(of: .text, bytesExpected: values.count * 24)
        values.forEach { array.append($0) }
        return .array(array)
    }

    var type: PostgresType {
        switch self {
        case .null: .unspecified
        case .bool: .bool
        case .int8: .int8
        case .float8: .float8
        case .text, .textBytes: .text
        case .json: .json
        case .bytea: .bytea
        case .timestamptz: .timestamptz
        case .period: .period
        case .periods: .periods
        case .array(let array): array.elementType.arrayType ?? .unspecified
        }
    }

    /// The binary form; large values are not copied.
    ///
    /// `nil` for a null, which has no bytes.
    var encoded: [UInt8]? {
        var bytes: [UInt8] = []
        switch self {
        case .null: return nil
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int8(let value): bytes.append(bigEndian: value)
        case .float8(let value): bytes.append(bigEndian: value.bitPattern)
        case .text(let value): bytes.append(contentsOf: value.utf8)
        case .textBytes(let value), .json(let value), .bytea(let value): return value
        case .timestamptz(let time): bytes.append(bigEndian: PostgresTimestamp.microseconds(fromUNIXMilliseconds: time))
        case .period(let period): bytes.append(period: period)
        case .periods(let periods): bytes.append(periods: periods)
        case .array(let array): return array.encoded
        }
        return bytes
    }
}

/// PostgreSQL's binary format: integers big-endian, every field preceded by its length.
extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { bytes in unsafe append(contentsOf: bytes) }
    }

    /// Appends an integer after its length.
    ///
    /// A single append writes both, as in the next function, because a batch has about forty such integers per record.
    mutating func appendLengthPrefixed(bigEndian value: Int64) {
        unsafe appendLengthPrefixed(byteCount: 8) { room in unsafe room.storeBytes(of: value.bigEndian, as: Int64.self)
        }
    }

    /// Appends bytes after their length.
    mutating func appendLengthPrefixed(_ value: RawSpan) {
        unsafe appendLengthPrefixed(byteCount: value.byteCount) { room in
            unsafe value.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        }
    }

    /// - Parameter write: a closure that fills the whole buffer.
    private mutating func appendLengthPrefixed(byteCount: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        let prefixed = 4 + byteCount
        append(addingCapacity: prefixed) { output in
            unsafe output.withUnsafeMutableBufferPointer { elements, initializedCount in
                let room = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(elements)[initializedCount...])
                let length = UInt32(truncatingIfNeeded: byteCount).bigEndian
                unsafe room.storeBytes(of: length, as: UInt32.self)
                unsafe write(UnsafeMutableRawBufferPointer(rebasing: room[4..<prefixed]))
                initializedCount += prefixed
            }
        }
    }

    /// Appends the bytes that `body` writes, preceded by their length.
    mutating func appendLengthPrefixed(_ body: (inout [UInt8]) -> Void) {
        let start = count
        append(bigEndian: Int32(0))
        body(&self)
        let length = UInt32(truncatingIfNeeded: count - start - 4)
        for index in 0..<4 { self[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index)) }
    }

    mutating func append(periods: [PostgresPeriod]) {
        append(bigEndian: Int32(truncatingIfNeeded: periods.count))
        for period in periods { appendLengthPrefixed { $0.append(period: period) } }
    }

    /// Appends a period; the flags are from `rangetypes.h`: 0x02 for an included lower bound, 0x10 for no upper bound.
    mutating func append(period: PostgresPeriod) {
        append(period.endMilliseconds == nil ? 0x12 : 0x02)
        append(timestamp: period.startMilliseconds)
        if let end = period.endMilliseconds { append(timestamp: end) }
    }

    private mutating func append(timestamp milliseconds: Int64) {
        appendLengthPrefixed(bigEndian: PostgresTimestamp.microseconds(fromUNIXMilliseconds: milliseconds))
    }
}

/// The parameters of one statement, in the form in which libpq reads them.
@safe struct ParameterList {
    private let values: [[UInt8]?]

    init(_ parameters: [PostgresValue]) { values = parameters.map(\.encoded) }

    /// Calls `body` with libpq's four arguments: count, values, lengths, formats.
    @unsafe func withArguments<R>(
        _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> R
    ) -> R {
        let lengths = values.map { Int32(truncatingIfNeeded: $0?.count ?? 0) }
        let formats = Array(repeating: Self.binaryFormat, count: values.count)
        return unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: values.count) {
            pointers in
            unsafe withPointers(from: 0, in: pointers) { pointers in
                unsafe body(Int32(values.count), pointers.baseAddress, lengths, formats)
            }
        }
    }

    /// Sets the pointers to the values from an index on; the pointers are valid while `body` runs.
    @unsafe private func withPointers<R>(
        from index: Int, in pointers: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>,
        _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) -> R
    ) -> R {
        guard index < values.count else { return unsafe body(UnsafeBufferPointer(pointers)) }
        guard let value = values[index] else {
            unsafe pointers.initializeElement(at: index, to: nil)
            return unsafe withPointers(from: index + 1, in: pointers, body)
        }
        return unsafe value.withUnsafeBytes { bytes in
            // libpq treats a null pointer as NULL, so even an empty value needs an address.
            let start = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let text = unsafe start?.assumingMemoryBound(to: CChar.self)
            unsafe pointers.initializeElement(at: index, to: text)
            return unsafe withPointers(from: index + 1, in: pointers, body)
        }
    }

    private static let binaryFormat: Int32 = 1
}
