package import AppStore
package import Entitlements
package import JSON
package import OpenSSL
package import Postgres

/// A value of one column, with its PostgreSQL type, its encoding and its decoding.
package protocol ColumnValue: SendableMetatype {
    static var columnType: PostgresType { get }

    func append(to array: inout PostgresArray)
    var parameter: PostgresValue { get }

    /// Reads a value; traps if the column has another type, or is NULL although the value is not optional.
    static func read(_ row: PostgresRow, _ position: Int) -> Self

    /// Reads a value that may be absent.
    ///
    /// `nil` if the column is NULL.
    static func readOptional(_ row: PostgresRow, _ position: Int) -> Self?
}

extension ColumnValue {
    package static func readOptional(_ row: PostgresRow, _ position: Int) -> Self? {
        row.isNull(position) ? nil : read(row, position)
    }
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
    package static var columnType: PostgresType { Wrapped.columnType }

    package func append(to array: inout PostgresArray) {
        if let self { self.append(to: &array) } else { array.appendNull() }
    }

    package var parameter: PostgresValue { self?.parameter ?? .null }

    package static func read(_ row: PostgresRow, _ position: Int) -> Wrapped? { Wrapped.readOptional(row, position) }
}

extension String: ColumnValue {
    package static var columnType: PostgresType { .text }
    package func append(to array: inout PostgresArray) { array.append(self) }
    package var parameter: PostgresValue { .text(self) }

    package static func read(_ row: PostgresRow, _ position: Int) -> String { row.text(position) }
}

extension Bool: ColumnValue {
    package static var columnType: PostgresType { .bool }
    package func append(to array: inout PostgresArray) { array.append(self) }
    package var parameter: PostgresValue { .bool(self) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Bool { row.bool(position) }
}

extension Int64: ColumnValue {
    package static var columnType: PostgresType { .int8 }
    package func append(to array: inout PostgresArray) { array.append(self) }
    package var parameter: PostgresValue { .int8(self) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Int64 { row.int8(position) }
}

extension Int: ColumnValue {
    package static var columnType: PostgresType { .int8 }
    package func append(to array: inout PostgresArray) { array.append(Int64(self)) }
    package var parameter: PostgresValue { .int8(Int64(self)) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Int { Int(row.int8(position)) }
}

extension Int32: ColumnValue {
    package static var columnType: PostgresType { .int8 }
    package func append(to array: inout PostgresArray) { array.append(Int64(self)) }
    package var parameter: PostgresValue { .int8(Int64(self)) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Int32 {
        Int32(truncatingIfNeeded: row.int8(position))
    }
}

extension Double: ColumnValue {
    package static var columnType: PostgresType { .float8 }
    package func append(to array: inout PostgresArray) { preconditionFailure("no statement takes an array of float8") }
    package var parameter: PostgresValue { .float8(self) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Double { row.float8(position) }
}

/// The UTF-8 of a column of type `json`.
package struct JSONText: ColumnValue, Hashable, Sendable {
    package let bytes: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    package init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    package static var columnType: PostgresType { .json }
    package func append(to array: inout PostgresArray) { array.append(utf8: bytes.span) }
    package var parameter: PostgresValue { .json(Array(bytes)) }

    package static func read(_ row: PostgresRow, _ position: Int) -> JSONText { JSONText(row.bytes(position)) }

    /// The parsed value, without a size limit, because PostgreSQL has checked that the text is JSON.
    package var root: JSONValue {
        do { return try JSONDocument(parsing: Array(bytes), limits: .accepted, policy: .grammar).root } catch {
            preconditionFailure("a column of type json holds JSON alone: \(error.code)")
        }
    }
}

/// The bytes of a column of type `bytea`.
package struct ByteString: ColumnValue, Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package static var columnType: PostgresType { .bytea }
    package func append(to array: inout PostgresArray) { array.append(bytes) }
    package var parameter: PostgresValue { .bytea(bytes) }

    package static func read(_ row: PostgresRow, _ position: Int) -> ByteString { ByteString(row.bytes(position)) }
}

extension SHA256Digest: ColumnValue {
    package static var columnType: PostgresType { .bytea }
    package func append(to array: inout PostgresArray) {
        let words = words
        array.append(raw: words.span.bytes)
    }
    package var parameter: PostgresValue { .bytea(bytes) }

    package static func read(_ row: PostgresRow, _ position: Int) -> SHA256Digest {
        guard let digest = row.withBytes(position, { SHA256Digest($0) }).flatMap(\.self) else {
            preconditionFailure("the schema lets no digest be other than 32 bytes")
        }
        return digest
    }
}

/// A column of type `timestamptz`, in whole UNIX milliseconds.
package struct StoredTime: ColumnValue, Hashable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static var columnType: PostgresType { .timestamptz }
    package func append(to array: inout PostgresArray) { array.append(timestampMilliseconds: milliseconds) }
    package var parameter: PostgresValue { .timestamptz(milliseconds: milliseconds) }

    package static func read(_ row: PostgresRow, _ position: Int) -> StoredTime {
        StoredTime(milliseconds: row.timestamp(position))
    }
}

extension StoredTime: JSONRepresentable { package var json: JSONContent { Timestamp(self).json } }

/// Apple's dates are stored unchanged: UNIX milliseconds in columns named `..._ms`.
extension Timestamp: ColumnValue {
    package static var columnType: PostgresType { .int8 }
    package func append(to array: inout PostgresArray) { array.append(milliseconds) }
    package var parameter: PostgresValue { .int8(milliseconds) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Timestamp {
        Timestamp(milliseconds: row.int8(position))
    }
}

/// A column of type `tstzmultirange`, as a list of periods.
extension Array: ColumnValue where Element == PostgresPeriod {
    package static var columnType: PostgresType { .periods }
    package func append(to array: inout PostgresArray) { array.append(self) }
    package var parameter: PostgresValue { .periods(self) }

    package static func read(_ row: PostgresRow, _ position: Int) -> [PostgresPeriod] { row.periods(position) }
}

/// A column of type `tstzmultirange`, as a set of periods.
extension PeriodSet: ColumnValue {
    package static var columnType: PostgresType { .periods }
    package func append(to array: inout PostgresArray) { array.append(stored) }
    package var parameter: PostgresValue { .periods(stored) }

    package static func read(_ row: PostgresRow, _ position: Int) -> PeriodSet {
        PeriodSet(row.periods(position).map { Period($0) })
    }

    package var stored: [PostgresPeriod] { periods.map(\.stored) }
}

/// A column of type `tstzrange`.
extension Period: ColumnValue {
    package static var columnType: PostgresType { .period }
    package func append(to array: inout PostgresArray) { array.append(stored) }
    package var parameter: PostgresValue { .period(stored) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Period { Period(row.period(position)) }

    package var stored: PostgresPeriod {
        PostgresPeriod(startMilliseconds: start.milliseconds, endMilliseconds: end?.milliseconds)
    }

    init(_ period: PostgresPeriod) {
        self.init(
            start: Timestamp(milliseconds: period.startMilliseconds),
            end: period.endMilliseconds.map { Timestamp(milliseconds: $0) })
    }
}
