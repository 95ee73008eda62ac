/// A row of a result; columns are counted from 0.
package struct PostgresRow: Sendable {
    let rows: PostgresRows
    let index: Int

    package func isNull(_ column: Int) -> Bool { rows.isNull(index, column) }

    package func optionalInt8(_ column: Int) -> Int64? {
        unsafe readField(column, \.isInteger) { unsafe BinaryField($0).integer }
    }

    package func optionalBool(_ column: Int) -> Bool? {
        unsafe readField(column, { $0 == .bool }, { unsafe BinaryField($0).integer != 0 })
    }

    package func optionalFloat8(_ column: Int) -> Double? {
        unsafe readField(column, { $0 == .float8 }) {
            Double(bitPattern: UInt64(bitPattern: unsafe BinaryField($0).integer))
        }
    }

    package func optionalText(_ column: Int) -> String? {
        unsafe readField(column, \.isTextual) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The UNIX milliseconds of a `timestamptz`, rounded down.
    package func optionalTimestamp(_ column: Int) -> Int64? {
        unsafe readField(column, { $0 == .timestamptz }) {
            PostgresTimestamp.unixMilliseconds(fromMicroseconds: unsafe BinaryField($0).integer)
        }
    }

    /// The field's bytes as the server sent them: a `bytea`, or the UTF-8 of a text.
    package func optionalBytes(_ column: Int) -> [UInt8]? {
        unsafe rows.field(index, column).map { unsafe [UInt8]($0) }
    }

    /// Calls `body` with the field's bytes, without a copy.
    ///
    /// `nil` for NULL.
    package func withBytes<R>(_ column: Int, _ body: (Span<UInt8>) throws -> R) rethrows -> R? {
        guard let field = unsafe rows.field(index, column) else { return nil }
        return try unsafe field.withMemoryRebound(to: UInt8.self) { bytes in try body(unsafe bytes.span) }
    }

    package func int8(_ column: Int) -> Int64 { required(optionalInt8(column), column) }

    package func bool(_ column: Int) -> Bool { required(optionalBool(column), column) }

    package func float8(_ column: Int) -> Double { required(optionalFloat8(column), column) }

    package func text(_ column: Int) -> String { required(optionalText(column), column) }

    package func timestamp(_ column: Int) -> Int64 { required(optionalTimestamp(column), column) }

    package func bytes(_ column: Int) -> [UInt8] { required(optionalBytes(column), column) }

    /// The periods of a `tstzmultirange`, in order; an unbounded start becomes the smallest time.
    package func periods(_ column: Int) -> [PostgresPeriod] {
        let periods = unsafe readField(column, { $0 == .periods }) { field in
            var reader = unsafe BinaryField(field)
            return (0..<reader.readInt32()).map { _ in unsafe PostgresPeriod(reader.readField()) }
        }
        return required(periods, column)
    }

    /// The period of a `tstzrange`; an unbounded start becomes the smallest time.
    package func period(_ column: Int) -> PostgresPeriod {
        required(unsafe readField(column, { $0 == .period }) { unsafe PostgresPeriod($0) }, column)
    }

    @unsafe private func readField<T>(
        _ column: Int, _ accepts: (PostgresType) -> Bool, _ read: (UnsafeRawBufferPointer) -> T
    ) -> T? {
        guard let field = unsafe rows.field(index, column) else { return nil }
        precondition(
            accepts(rows.type(ofColumn: column)), "the statement returns another type than its reader asks for")
        return unsafe read(field)
    }

    private func required<T>(_ value: T?, _ column: Int) -> T {
        guard let value else { preconditionFailure("column \(column) is NULL where its reader promises a value") }
        return value
    }
}

/// A reader of one field of a result in PostgreSQL's binary format.
///
/// The bytes come from the server, and libpq has checked the lengths of fields. The format inside a field is trusted,
/// but no read goes beyond the field's end.
@safe struct BinaryField {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    @unsafe init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

    /// All bytes of the field as one big-endian signed integer of 1, 2, 4 or 8 bytes.
    var integer: Int64 {
        if unsafe bytes.count == 8 { return Int64(bigEndian: unsafe bytes.loadUnaligned(as: Int64.self)) }
        let isNegative = unsafe (bytes.first ?? 0) & 0x80 != 0
        return unsafe bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    mutating func readInt32() -> Int {
        let field = unsafe take(4)
        return Int(unsafe BinaryField(field).integer)
    }

    mutating func readByte() -> UInt8 { UInt8(truncatingIfNeeded: unsafe BinaryField(take(1)).integer) }

    /// The next field follows its length.
    @unsafe mutating func readField() -> UnsafeRawBufferPointer { unsafe take(max(0, readInt32())) }

    @unsafe private mutating func take(_ length: Int) -> UnsafeRawBufferPointer {
        let end = position + length
        precondition(unsafe end <= bytes.count, "the server sent a truncated field")
        let field = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end
        return unsafe field
    }
}

extension PostgresPeriod {
    /// Reads the format of `range_send`; see `rangetypes.h` for the flags.
    @unsafe init(_ field: UnsafeRawBufferPointer) {
        var reader = unsafe BinaryField(field)
        let flags = reader.readByte()
        let hasStart = flags & 0x08 == 0
        let hasEnd = flags & 0x10 == 0
        startMilliseconds = hasStart ? reader.readTimestamp() : .min
        endMilliseconds = hasEnd ? reader.readTimestamp() : nil
    }
}

extension BinaryField {
    fileprivate mutating func readTimestamp() -> Int64 {
        let field = unsafe readField()
        return PostgresTimestamp.unixMilliseconds(fromMicroseconds: unsafe BinaryField(field).integer)
    }
}
