package import AppStore
package import JSON

/// One signed body of a scenario (`schemas/scenarios`), written short: what it leaves out is filled
/// in.
///
/// Members named `…Date` are ISO 8601 and become the milliseconds that Apple writes. A transaction
/// is by default its own original, of quantity 1, in Production; every payload is signed at the
/// event's time.
package struct ScenarioEvent: Sendable {
    package static let bundleID = "com.example.app"

    package let json: JSONValue
    package let offset: Int64
    package let signedDate: Timestamp
    package let environment: String

    package init(json: JSONValue, offset: Int64, signedLater: Int64 = 0) throws {
        guard let signed = json["signed"]?.string.flatMap({ Timestamp(iso8601: $0) }) else {
            throw ScenarioError("event \(offset) has no date in signed")
        }
        self.json = json
        self.offset = offset
        signedDate = Timestamp(milliseconds: signed.milliseconds + signedLater)
        environment = json["environment"]?.string ?? "Production"
    }

    /// The payload of its transaction; nil if it has none.
    package func transaction() throws -> JSONValue? {
        try json["transaction"].map { try payload($0, isTransaction: true) }
    }

    /// The payload of its renewal info; nil if it has none.
    package func renewalInfo() throws -> JSONValue? {
        try json["renewalInfo"].map { try payload($0, isTransaction: false) }
    }

    /// The payload of its app transaction; nil if it has none.
    package func appTransaction() throws -> JSONValue? {
        try json["appTransaction"].map { try appTransaction($0) }
    }

    /// Apple's statement about a copy of the app, which names its signed date otherwise.
    private func appTransaction(_ short: JSONValue) throws -> JSONValue {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in short.members {
            try write(key.string ?? "", value, to: &writer)
        }
        for (name, value) in [("bundleId", Self.bundleID), ("receiptType", environment)]
        where short[name] == nil {
            writer.key(name)
            writer.string(value)
        }
        writer.key("receiptCreationDate")
        writer.int(signedDate.milliseconds)
        writer.endObject()
        return try JSONDocument(parsing: writer.bytes).root
    }

    private func payload(_ short: JSONValue, isTransaction: Bool) throws -> JSONValue {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in short.members {
            try write(key.string ?? "", value, to: &writer)
        }
        for (name, value) in defaults(of: short, isTransaction: isTransaction)
        where short[name] == nil {
            writer.key(name)
            writer.string(value)
        }
        if isTransaction, short["quantity"] == nil {
            writer.key("quantity")
            writer.int(1)
        }
        writer.key("signedDate")
        writer.int(signedDate.milliseconds)
        writer.endObject()
        return try JSONDocument(parsing: writer.bytes).root
    }

    private func write(_ name: String, _ value: JSONValue, to writer: inout JSONWriter) throws {
        writer.key(name)
        guard name.hasSuffix("Date"), let text = value.string else {
            writer.raw(value.rawBytes)
            return
        }
        guard let date = Timestamp(iso8601: text) else {
            throw ScenarioError("event \(offset): \(name) is no date")
        }
        writer.int(date.milliseconds)
    }

    private func defaults(of short: JSONValue, isTransaction: Bool) -> [(String, String)] {
        guard isTransaction else { return [("environment", environment)] }
        return [
            ("originalTransactionId", short["transactionId"]?.string ?? ""),
            ("bundleId", Self.bundleID),
            ("environment", environment),
            ("type", "Auto-Renewable Subscription"),
        ]
    }
}

/// A scenario file that does not say what a scenario has to say.
package struct ScenarioError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
