/// One row of a result; columns are counted from 0.
package struct PostgresRow: Sendable {
    let rows: PostgresRows
    let index: Int

    package func isNull(_ column: Int) -> Bool {
        rows.isNull(index, column)
    }

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

    /// UNIX milliseconds of a `timestamptz`, rounded down.
    package func optionalTimestamp(_ column: Int) -> Int64? {
        unsafe readField(column, { $0 == .timestamptz }) {
            PostgresTimestamp.unixMilliseconds(
                fromMicroseconds: unsafe BinaryField($0).integer
            )
        }
    }

    /// The field's bytes as the server sent them: a `bytea`, or the UTF-8 of a text.
    package func optionalBytes(_ column: Int) -> [UInt8]? {
        unsafe rows.field(index, column).map { unsafe [UInt8]($0) }
    }

    /// Shows the field's bytes in place, without a copy; nil for NULL.
    package func withBytes<R>(_ column: Int, _ body: (Span<UInt8>) throws -> R) rethrows -> R? {
        guard let field = unsafe rows.field(index, column) else { return nil }
        return try unsafe field.withMemoryRebound(to: UInt8.self) { bytes in
            try body(unsafe bytes.span)
        }
    }

    package func int8(_ column: Int) -> Int64 {
        required(optionalInt8(column), column)
    }

    package func bool(_ column: Int) -> Bool {
        required(optionalBool(column), column)
    }

    package func float8(_ column: Int) -> Double {
        required(optionalFloat8(column), column)
    }

    package func text(_ column: Int) -> String {
        required(optionalText(column), column)
    }

    package func timestamp(_ column: Int) -> Int64 {
        required(optionalTimestamp(column), column)
    }

    package func bytes(_ column: Int) -> [UInt8] {
        required(optionalBytes(column), column)
    }

    package func int8Array(_ column: Int) -> [Int64?] {
        unsafe array(column) { unsafe BinaryField($0).integer }
    }

    package func textArray(_ column: Int) -> [String?] {
        unsafe array(column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    package func bytesArray(_ column: Int) -> [[UInt8]?] {
        unsafe array(column) { unsafe [UInt8]($0) }
    }

    /// The spans of a `tstzmultirange`, in order; an unbounded start reads as the smallest time.
    package func periods(_ column: Int) -> [PostgresPeriod] {
        let periods = unsafe readField(column, { $0 == .periods }) { field in
            var reader = unsafe BinaryField(field)
            return (0..<reader.readInt32()).map { _ in unsafe PostgresPeriod(reader.readField()) }
        }
        return required(periods, column)
    }

    @unsafe
    private func array<T>(
        _ column: Int,
        _ element: (UnsafeRawBufferPointer) -> T
    ) -> [T?] {
        let elements = unsafe rows.field(index, column).map { field -> [T?] in
            var reader = unsafe BinaryField(field)
            return unsafe reader.readArray(element)
        }
        return required(elements, column)
    }

    @unsafe
    private func readField<T>(
        _ column: Int,
        _ accepts: (PostgresType) -> Bool,
        _ read: (UnsafeRawBufferPointer) -> T
    ) -> T? {
        guard let field = unsafe rows.field(index, column) else { return nil }
        precondition(
            accepts(rows.type(ofColumn: column)),
            "the statement returns another type than its reader asks for"
        )
        return unsafe read(field)
    }

    private func required<T>(_ value: T?, _ column: Int) -> T {
        guard let value else {
            preconditionFailure("column \(column) is NULL where its reader promises a value")
        }
        return value
    }
}
