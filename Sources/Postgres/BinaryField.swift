/// Reads one field of a result in PostgreSQL's binary format.
///
/// The bytes come from the server and libpq has checked the lengths of fields; what stands inside
/// of a field is believed in its format, but never read beyond the field's end.
@safe
struct BinaryField {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    @unsafe
    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = unsafe bytes
    }

    /// All bytes as one big-endian signed integer of 1, 2, 4 or 8 bytes.
    var integer: Int64 {
        let isNegative = unsafe (bytes.first ?? 0) & 0x80 != 0
        return unsafe bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    mutating func readInt32() -> Int {
        let field = unsafe take(4)
        return Int(unsafe BinaryField(field).integer)
    }

    mutating func readByte() -> UInt8 {
        UInt8(truncatingIfNeeded: unsafe BinaryField(take(1)).integer)
    }

    /// A field preceded by its length.
    @unsafe
    mutating func readField() -> UnsafeRawBufferPointer {
        unsafe take(max(0, readInt32()))
    }

    /// An array of one dimension, as `array_send` writes it.
    @unsafe
    mutating func readArray<T>(_ element: (UnsafeRawBufferPointer) -> T) -> [T?] {
        let dimensions = readInt32()
        precondition(dimensions <= 1, "only arrays of one dimension are read")
        _ = unsafe take(8)
        if dimensions == 0 { return [] }
        let count = readInt32()
        _ = unsafe take(4)
        var elements: [T?] = []
        elements.reserveCapacity(count)
        for _ in 0..<count {
            let length = readInt32()
            elements.append(length < 0 ? nil : unsafe element(take(length)))
        }
        return elements
    }

    @unsafe
    private mutating func take(_ length: Int) -> UnsafeRawBufferPointer {
        let end = position + length
        precondition(unsafe end <= bytes.count, "the server sent a truncated field")
        let field = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end
        return unsafe field
    }
}

extension PostgresPeriod {
    /// Reads what `range_send` writes; see `rangetypes.h` for the flags.
    @unsafe
    init(_ field: UnsafeRawBufferPointer) {
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
        return PostgresTimestamp.unixMilliseconds(
            fromMicroseconds: unsafe BinaryField(field).integer
        )
    }
}
