/// One array parameter, encoded as its elements are appended.
///
/// A set-based statement takes one per column and `unnest`s them together. Elements go straight
/// into one buffer, so a batch of a thousand payloads costs no allocation per payload, and slices
/// need no copy of their own.
package struct PostgresArray: Sendable {
    package let elementType: PostgresType
    package private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    /// - Parameter bytesExpected: room to reserve, a guess that spares copies when it is right.
    package init(of elementType: PostgresType, bytesExpected: Int = 0) {
        precondition(elementType.arrayType != nil, "PostgresType.arrayOIDs does not know this type")
        self.elementType = elementType
        elements.reserveCapacity(bytesExpected)
    }

    package mutating func appendNull() {
        elements.append(bigEndian: Int32(-1))
        hasNull = true
        count += 1
    }

    package mutating func append(_ value: Int64?) {
        precondition(elementType == .int8, "an integer goes into an array of int8")
        guard let value else { return appendNull() }
        elements.append(bigEndian: Int32(8))
        elements.append(bigEndian: value)
        count += 1
    }

    package mutating func append(_ value: Bool?) {
        precondition(elementType == .bool, "a Boolean goes into an array of bool")
        guard let value else { return appendNull() }
        elements.append(bigEndian: Int32(1))
        elements.append(value ? 1 : 0)
        count += 1
    }

    package mutating func append(timestampMilliseconds value: Int64?) {
        precondition(elementType == .timestamptz, "a time goes into an array of timestamptz")
        guard let value else { return appendNull() }
        elements.append(bigEndian: Int32(8))
        elements.append(
            bigEndian: PostgresTimestamp.microseconds(fromUNIXMilliseconds: value)
        )
        count += 1
    }

    package mutating func append(_ value: String?) {
        precondition(elementType.isTextual, "a string goes into an array of text or json")
        guard let value else { return appendNull() }
        append(contents: value.utf8)
    }

    /// Appends raw bytes: those of a `bytea`, or the UTF-8 of a text or JSON value.
    package mutating func append(_ value: (some Collection<UInt8>)?) {
        precondition(
            elementType == .bytea || elementType.isTextual,
            "bytes go into an array of bytea, text or json"
        )
        guard let value else { return appendNull() }
        append(contents: value)
    }

    package mutating func append(_ value: [PostgresPeriod]?) {
        precondition(elementType == .periods, "periods go into an array of tstzmultirange")
        guard let value else { return appendNull() }
        elements.appendLengthPrefixed { $0.append(periods: value) }
        count += 1
    }

    private mutating func append(contents: some Collection<UInt8>) {
        elements.append(bigEndian: Int32(truncatingIfNeeded: contents.count))
        elements.append(contentsOf: contents)
        count += 1
    }

    /// Writes the array as `array_recv` reads it.
    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
        bytes.append(bigEndian: elementType.oid)
        if count == 0 { return }
        bytes.append(bigEndian: Int32(truncatingIfNeeded: count))
        bytes.append(bigEndian: Int32(1))
        bytes.append(contentsOf: elements)
    }
}
