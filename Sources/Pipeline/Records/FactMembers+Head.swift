package import AppStore
package import Entitlements
package import JSON

/// Writes the members of a fact in an observation's head; absent members are omitted.
extension JSONWriter: FactMemberVisitor {
    package mutating func visit(_ name: StaticString, _ value: inout Identifier?) { optionalString(name, value) }

    package mutating func visit(_ name: StaticString, _ value: inout Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    package mutating func visit(_ name: StaticString, _ value: inout Int32?) { optionalInt(name, value) }

    package mutating func visit(_ name: StaticString, _ value: inout Timestamp?) {
        optionalInt(name, value?.milliseconds)
    }

    package mutating func visit(_ name: StaticString, _ value: inout AccountToken?) {
        guard let text = value?.text else { return }
        key(name)
        string(plain: text.span)
    }

    package mutating func visit(_ name: StaticString, _ value: inout Revocation?) {
        guard let value else { return }
        key(name)
        value.write(to: &self)
    }

    package mutating func visit(_ name: StaticString, _ value: inout [CommerceItem]) {
        guard !value.isEmpty else { return }
        key(name)
        CommerceItem.write(value, to: &self)
    }
}

/// Reads the members of a fact in the format of the writer above.
extension HeadMembers {
    mutating func visit(_ name: StaticString, _ value: inout Identifier?) throws(Failure) {
        value = try optionalIdentifier(name)
    }

    mutating func visit(_ name: StaticString, _ value: inout Bool?) throws(Failure) { value = try optionalBool(name) }

    mutating func visit(_ name: StaticString, _ value: inout Int32?) throws(Failure) {
        value = try optionalInt(name, in: Int32.min...Int32.max)
    }

    mutating func visit(_ name: StaticString, _ value: inout Timestamp?) throws(Failure) {
        value = try optionalDate(name)
    }

    mutating func visit(_ name: StaticString, _ value: inout AccountToken?) throws(Failure) {
        value = try optionalText(name) { AccountToken($0) }
    }

    mutating func visit(_ name: StaticString, _ value: inout Revocation?) throws(Failure) {
        value = try optionalObject(name, Revocation.init(reading:))
    }

    mutating func visit(_ name: StaticString, _ value: inout [CommerceItem]) throws(Failure) {
        value = try optionalItems(name) ?? []
    }
}

extension Revocation {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("date")
        writer.int(date.milliseconds)
        writer.optionalInt("percentage", percentage)
        writer.optionalInt("reason", reason)
        writer.optionalString("type", type)
        writer.endObject()
    }

    init(reading object: inout some HeadMembers) throws(ObservationError) {
        try self.init(
            date: object.date("date"), percentage: object.optionalInt("percentage", in: 0...Self.wholePercentage),
            reason: object.optionalInt("reason", in: Int32.min...Int32.max), type: object.optionalString("type"))
    }
}
