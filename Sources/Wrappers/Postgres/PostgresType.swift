/// The object identifiers of the built-in types that this wrapper uses (`pg_type.dat`).
///
/// The identifiers are part of PostgreSQL's protocol and never change.
package struct PostgresType: Hashable, Sendable {
    package let oid: UInt32

    /// The server infers the type from the parameter's position.
    static let unspecified = PostgresType(oid: 0)
    package static let bool = PostgresType(oid: 16)
    package static let bytea = PostgresType(oid: 17)
    static let name = PostgresType(oid: 19)
    package static let int8 = PostgresType(oid: 20)
    static let int2 = PostgresType(oid: 21)
    static let int4 = PostgresType(oid: 23)
    package static let text = PostgresType(oid: 25)
    static let objectID = PostgresType(oid: 26)
    package static let json = PostgresType(oid: 114)
    package static let float8 = PostgresType(oid: 701)
    static let unknown = PostgresType(oid: 705)
    static let fixedLengthText = PostgresType(oid: 1042)
    static let varchar = PostgresType(oid: 1043)
    package static let timestamptz = PostgresType(oid: 1184)
    package static let period = PostgresType(oid: 3910)
    package static let periods = PostgresType(oid: 4534)

    /// The type's name in SQL.
    package var sqlName: String {
        guard let name = Self.sqlNames[oid] else {
            preconditionFailure("PostgresType.sqlNames does not know this type")
        }
        return name
    }

    /// The array type with this element type.
    package var array: PostgresType {
        guard let arrayType else { preconditionFailure("PostgresType.arrayOIDs does not know this type") }
        return arrayType
    }

    /// The array type with this element type.
    ///
    /// `nil` if the wrapper does not use it.
    var arrayType: PostgresType? { Self.arrayOIDs[oid].map(PostgresType.init(oid:)) }

    var isInteger: Bool {
        switch self {
        case .int8, .int4, .int2, .objectID: true
        default: false
        }
    }

    /// Whether the binary form is the text itself, as for user-defined enums.
    var isTextual: Bool {
        switch self {
        case .text, .varchar, .name, .json, .unknown, .fixedLengthText: true
        default: oid >= Self.firstUserDefined
        }
    }

    private static let firstUserDefined: UInt32 = 16_384

    private static let sqlNames: [UInt32: String] = [
        16: "bool", 17: "bytea", 20: "int8", 25: "text", 114: "json", 701: "float8", 1184: "timestamptz",
        3910: "tstzrange", 4534: "tstzmultirange",
    ]

    private static let arrayOIDs: [UInt32: UInt32] = [
        16: 1000, 17: 1001, 20: 1016, 25: 1009, 114: 199, 701: 1022, 1184: 1185, 3910: 3911, 4534: 6153,
    ]
}

/// An array parameter, encoded as its elements are appended.
///
/// A set-based statement has one array per column and `unnest`s them together. Elements are encoded directly into one
/// buffer, so a batch of a thousand payloads costs no allocation per payload, and slices need no copy. libpq sends the
/// buffer unchanged: it begins with the header that `array_recv` reads.
package struct PostgresArray: Sendable {
    package let elementType: PostgresType
    package private(set) var count = 0
    /// The encoded array, empty before the first element.
    private var bytes: [UInt8] = []

    /// - Parameter bytesExpected: bytes to reserve, an estimate that saves copies if it is right.
    package init(of elementType: PostgresType, bytesExpected: Int = 0) {
        precondition(elementType.arrayType != nil, "PostgresType.arrayOIDs does not know this type")
        self.elementType = elementType
        if bytesExpected > 0 { bytes.reserveCapacity(Self.headerBytes + bytesExpected) }
    }

    /// Reserves space for `count` elements, each a little larger than the present average.
    package mutating func reserve(_ count: Int) {
        guard self.count > 0 else { return }
        let average = (bytes.count - Self.headerBytes) / self.count
        let expected = average.multipliedReportingOverflow(by: count)
        guard !expected.overflow else { return }
        // A single huge element does not mean that all elements are huge.
        let reserved = min(expected.partialValue / 8 * 9, Self.bytesReservedMax)
        bytes.reserveCapacity(Self.headerBytes + reserved)
    }

    private static let bytesReservedMax = 4 << 20

    package mutating func appendNull() {
        addElement()
        bytes[Self.flagsEnd - 1] = 1
        bytes.append(bigEndian: Int32(-1))
    }

    package mutating func append(_ value: Int64?) {
        precondition(elementType == .int8, "an integer goes into an array of int8")
        guard let value else { return appendNull() }
        addElement()
        bytes.appendLengthPrefixed(bigEndian: value)
    }

    package mutating func append(_ value: Bool?) {
        precondition(elementType == .bool, "a Boolean goes into an array of bool")
        guard let value else { return appendNull() }
        addElement()
        bytes.append(bigEndian: Int32(1))
        bytes.append(value ? 1 : 0)
    }

    package mutating func append(timestampMilliseconds value: Int64?) {
        precondition(elementType == .timestamptz, "a time goes into an array of timestamptz")
        guard let value else { return appendNull() }
        addElement()
        bytes.appendLengthPrefixed(bigEndian: PostgresTimestamp.microseconds(fromUNIXMilliseconds: value))
    }

    package mutating func append(_ value: String?) {
        precondition(elementType.isTextual, "a string goes into an array of text or json")
        guard let value else { return appendNull() }
        let utf8 = value.utf8
        append(utf8: utf8.span)
    }

    /// Appends raw bytes: those of a `bytea`, or the UTF-8 of a text or JSON value.
    package mutating func append(_ value: (some Collection<UInt8>)?) {
        precondition(elementType == .bytea || elementType.isTextual, "bytes go into an array of bytea, text or json")
        guard let value else { return appendNull() }
        append(contents: value)
    }

    /// Appends a text's UTF-8 directly from its memory.
    package mutating func append(utf8 text: Span<UInt8>) {
        precondition(elementType.isTextual, "a string goes into an array of text or json")
        addElement()
        unsafe bytes.appendLengthPrefixed(text.bytes)
    }

    /// Appends raw bytes directly from their memory.
    package mutating func append(raw value: RawSpan) {
        precondition(elementType == .bytea, "bytes go into an array of bytea")
        addElement()
        bytes.appendLengthPrefixed(value)
    }

    package mutating func append(_ value: [PostgresPeriod]?) {
        precondition(elementType == .periods, "periods go into an array of tstzmultirange")
        guard let value else { return appendNull() }
        addElement()
        bytes.appendLengthPrefixed { $0.append(periods: value) }
    }

    package mutating func append(_ value: PostgresPeriod) {
        precondition(elementType == .period, "a period goes into an array of tstzrange")
        addElement()
        bytes.appendLengthPrefixed { $0.append(period: value) }
    }

    private mutating func append(contents: some Collection<UInt8>) {
        addElement()
        bytes.append(bigEndian: Int32(truncatingIfNeeded: contents.count))
        bytes.append(contentsOf: contents)
    }

    /// Counts an element in the header; writes the header before the first element.
    private mutating func addElement() {
        if count == 0 { appendHeader(dimensions: 1) }
        count += 1
        unsafe bytes.withUnsafeMutableBytes { header in
            unsafe header.storeBytes(
                of: Int32(truncatingIfNeeded: count).bigEndian, toByteOffset: Self.countStart, as: Int32.self)
        }
    }

    private mutating func appendHeader(dimensions: Int32) {
        bytes.append(bigEndian: dimensions)
        // The flags: whether an element is null.
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: elementType.oid)
        guard dimensions == 1 else { return }
        bytes.append(bigEndian: Int32(0))
        // Indexes begin at one.
        bytes.append(bigEndian: Int32(1))
    }

    private static let flagsEnd = 8
    private static let countStart = 12
    private static let headerBytes = 20

    /// The array as `array_recv` reads it.
    var encoded: [UInt8] {
        guard count == 0 else { return bytes }
        var empty = self
        empty.appendHeader(dimensions: 0)
        return empty.bytes
    }
}

/// A period with an included start and an excluded end, in UNIX milliseconds; it may have no end.
///
/// Several periods form one `tstzmultirange`.
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

    /// The first and last whole millisecond within `timestamptz` (4714 BC to 294276 AD).
    static let milliseconds: ClosedRange<Int64> = -210_866_803_200_000...9_224_318_015_999_999

    /// Converts a time; a time outside the server's range becomes the nearest one within it.
    static func microseconds(fromUNIXMilliseconds time: Int64) -> Int64 {
        let bounded = min(max(time, milliseconds.lowerBound), milliseconds.upperBound)
        return (bounded - epochMilliseconds) * 1000
    }

    /// The whole millisecond at or before the time; the infinities map to the ends of `Int64`.
    static func unixMilliseconds(fromMicroseconds time: Int64) -> Int64 {
        if time == .max || time == .min { return time }
        let (quotient, remainder) = time.quotientAndRemainder(dividingBy: 1000)
        return quotient - (remainder < 0 ? 1 : 0) + epochMilliseconds
    }
}
