/// One parameter of a statement, sent in PostgreSQL's binary format and never part of the SQL.
package enum PostgresValue: Sendable {
    /// A null of the type that the place in the statement asks for.
    case null
    case bool(Bool)
    case int8(Int64)
    case float8(Double)
    case text(String)
    case textBytes([UInt8])
    case json([UInt8])
    case bytea([UInt8])
    case timestamptz(milliseconds: Int64)
    case periods([PostgresPeriod])
    case array(PostgresArray)

    package static func text(_ value: String?) -> PostgresValue {
        value.map { .text($0 as String) } ?? .null
    }

    package static func int8(_ value: Int64?) -> PostgresValue {
        value.map { .int8($0 as Int64) } ?? .null
    }

    package static func int8Array(_ values: [Int64?]) -> PostgresValue {
        var array = PostgresArray(of: .int8, bytesExpected: values.count * 12)
        values.forEach { array.append($0) }
        return .array(array)
    }

    package static func boolArray(_ values: [Bool?]) -> PostgresValue {
        var array = PostgresArray(of: .bool, bytesExpected: values.count * 5)
        values.forEach { array.append($0) }
        return .array(array)
    }

    package static func textArray(_ values: [String?]) -> PostgresValue {
        var array = PostgresArray(of: .text, bytesExpected: values.count * 24)
        values.forEach { array.append($0) }
        return .array(array)
    }

    package static func textArray(_ values: [[UInt8]?]) -> PostgresValue {
        bytesArray(of: .text, values)
    }

    package static func jsonArray(_ values: [[UInt8]?]) -> PostgresValue {
        bytesArray(of: .json, values)
    }

    package static func byteaArray(_ values: [[UInt8]?]) -> PostgresValue {
        bytesArray(of: .bytea, values)
    }

    package static func periodsArray(_ values: [[PostgresPeriod]?]) -> PostgresValue {
        var array = PostgresArray(of: .periods, bytesExpected: values.count * 40)
        values.forEach { array.append($0) }
        return .array(array)
    }

    private static func bytesArray(of type: PostgresType, _ values: [[UInt8]?]) -> PostgresValue {
        let bytesExpected = values.reduce(0) { $0 + 4 + ($1?.count ?? 0) }
        var array = PostgresArray(of: type, bytesExpected: bytesExpected)
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
        case .periods: .periods
        case .array(let array): array.elementType.arrayType ?? .unspecified
        }
    }

    /// Appends the binary form; writes nothing for a null, which has no bytes.
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int8(let value): bytes.append(bigEndian: value)
        case .float8(let value): bytes.append(bigEndian: value.bitPattern)
        case .text(let value): bytes.append(contentsOf: value.utf8)
        case .textBytes(let value), .json(let value), .bytea(let value):
            bytes.append(contentsOf: value)
        case .timestamptz(let time):
            bytes.append(bigEndian: PostgresTimestamp.microseconds(fromUNIXMilliseconds: time))
        case .periods(let periods): bytes.append(periods: periods)
        case .array(let array): array.encode(into: &bytes)
        }
    }
}
