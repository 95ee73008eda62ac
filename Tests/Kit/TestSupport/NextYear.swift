import JSON
package import Simulation

/// Changes what Apple signs as Apple may change it within a year.
///
/// New members at every level, new types, subtypes and enumeration values, optional members that
/// are gone or of another JSON type. What makes a payload of its kind, names its app or dates its
/// signature keeps its form, because the verifier requires it.
package struct NextYear {
    package var random: SeededGenerator

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// Members whose values the verifier goes by; objects among them change inside.
    private static let kept: Set<String> = [
        "transactionId", "originalTransactionId", "bundleId", "environment", "productId", "purchaseDate", "signedDate",
        "autoRenewStatus", "receiptType", "receiptCreationDate", "appAppleId", "externalPurchaseId", "data", "summary",
        "externalPurchaseToken", "appData", "unclaimInfo", "pledgeInfo", "signedTransactionInfo", "signedRenewalInfo",
        "signedAppTransactionInfo", "originalTransactionID", "transactionID",
    ]

    /// A payload as a later version of Apple's services writes it.
    package mutating func payload(_ json: [UInt8]) throws -> [UInt8] {
        var writer = JSONWriter(reserving: json.count * 2)
        write(try JSONDocument(parsing: json).root, replacing: true, to: &writer)
        return writer.bytes
    }

    /// A body around what is signed: it gets further members and loses none.
    package mutating func envelope(_ json: [UInt8]) throws -> [UInt8] {
        var writer = JSONWriter(reserving: json.count * 2)
        write(try JSONDocument(parsing: json).root, replacing: false, to: &writer)
        return writer.bytes
    }

    package mutating func chance(_ percentage: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percentage }

    private mutating func write(_ value: JSONValue, replacing: Bool, to writer: inout JSONWriter) {
        switch value.kind {
        case .object:
            writer.beginObject()
            for (key, member) in value.members {
                if chance(3) { addMember(to: &writer) }
                write(key.string ?? "", member, replacing: replacing, to: &writer)
            }
            if chance(20) { addMember(to: &writer) }
            writer.endObject()
        case .array:
            writer.beginArray()
            for element in value.elements { write(element, replacing: replacing, to: &writer) }
            if replacing, chance(10) { writeAnything(depthMax: 3, to: &writer) }
            writer.endArray()
        case .string, .number, .bool, .null: writer.raw(value.rawBytes)
        }
    }

    private mutating func write(_ name: String, _ value: JSONValue, replacing: Bool, to writer: inout JSONWriter) {
        let isKept = !replacing || Self.kept.contains(name)
        if !isKept, name != "notificationType", chance(4) { return }
        writer.key(name)
        if name == "notificationType" {
            // Without a type it is no notification, so that only its value is new.
            if chance(30) { writer.string(newName()) } else { writer.raw(value.rawBytes) }
        } else if !isKept, value.kind == .string, chance(15) {
            writer.string(newName())
        } else if !isKept, chance(15) {
            writeAnything(depthMax: 3, to: &writer)
        } else {
            write(value, replacing: replacing, to: &writer)
        }
    }

    private mutating func addMember(to writer: inout JSONWriter) {
        // No object has two of one name: a doubled key is no acceptable JSON.
        writer.key("next\(random.next())")
        writeAnything(depthMax: 3, to: &writer)
    }

    mutating func newName() -> String { "NEXT_\(UInt16.random(in: 0...9_999, using: &random))" }

    /// Strings and numbers of the kinds that a lenient reader stumbles over.
    private static let oddities = [
        "null", "true", "false", "0", "-1", "1e400", "-0.0", "1767225600000.75", "1e3",
        "123456789012345678901234567890", "9223372036854775807", "-9223372036854775808", "253402300800000", #""""#,
        #""\u0007\u001b[2J""#, #""\ud83e\udd8a é e\u0301 \u202e""#, #""2027-01-01T00:00:00Z""#,
        #""00000000-0000-0000-0000-000000000000""#, #""7E3FB20B-4CDB-47CC-936D-99D65F608138""#,
        #""eyJhbGciOiJFUzI1NiJ9.e30.AA""#, "\"\(String(repeating: "long ", count: 60))\"", "[]", "{}",
        #"["FULL",null,[{}]]"#,
    ]

    private mutating func writeAnything(depthMax: Int, to writer: inout JSONWriter) {
        guard depthMax > 0, chance(30) else {
            let index = Int.random(in: Self.oddities.indices, using: &random)
            writer.raw(Self.oddities[index].utf8)
            return
        }
        writer.beginObject()
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            writer.key("next\(random.next())")
            writeAnything(depthMax: depthMax - 1, to: &writer)
        }
        writer.endObject()
    }
}
