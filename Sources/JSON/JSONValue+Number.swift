extension JSONValue {
    /// The number where it is an integer that 64 bits hold, however it is written: `1.0` and `1e3`
    /// are integers.
    package var int64: Int64? {
        decimal?.int64(roundsDown: false)
    }

    /// The greatest integer that is not above the number, where 64 bits hold it.
    package var int64RoundedDown: Int64? {
        decimal?.int64(roundsDown: true)
    }

    /// The nearest double; nil where the number is too large for one.
    package var double: Double? {
        guard kind == .number else { return nil }
        let value = Double(String(decoding: rawBytes, as: UTF8.self))
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    private var decimal: Decimal? {
        guard kind == .number else { return nil }
        let bytes = storage.bytes
        return Decimal(bytes.span, range)
    }
}
