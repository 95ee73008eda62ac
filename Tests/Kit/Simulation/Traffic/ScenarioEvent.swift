package import AppStore
package import JSON

/// A signed body of a scenario (`schemas/scenarios`), written short and completed by defaults.
///
/// Members named `…Date` are ISO 8601 and become the milliseconds that Apple writes. A transaction
/// is by default its own original, of quantity 1, in Production. Every payload is signed at the
/// time of the event.
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

    /// The payload of its transaction.
    ///
    /// `nil` if it has none.
    package func transaction() throws -> JSONValue? {
        try json["transaction"].map { short in
            let defaults: KeyValuePairs<String, any JSONRepresentable> = [
                "originalTransactionId": short["transactionId"]?.string ?? "", "bundleId": Self.bundleID,
                "environment": environment, "type": "Auto-Renewable Subscription", "quantity": 1,
            ]
            return try payload(short, defaults, date: "signedDate")
        }
    }

    /// The payload of its renewal info.
    ///
    /// `nil` if it has none.
    package func renewalInfo() throws -> JSONValue? {
        try json["renewalInfo"].map { try payload($0, ["environment": environment], date: "signedDate") }
    }

    /// The payload of its app transaction, Apple's statement about a copy of the app.
    ///
    /// `nil` if it has none.
    package func appTransaction() throws -> JSONValue? {
        try json["appTransaction"].map {
            try payload($0, ["bundleId": Self.bundleID, "receiptType": environment], date: "receiptCreationDate")
        }
    }

    /// - Parameter date: the member that holds the signed date.
    private func payload(_ short: JSONValue, _ defaults: KeyValuePairs<String, any JSONRepresentable>, date: String)
        throws -> JSONValue
    {
        var members = try short.members.map { key, value in (key.string ?? "", try content(of: key.string ?? "", value))
        }
        for (name, value) in defaults where short[name] == nil { members.append((name, value.json)) }
        members.append((date, signedDate.milliseconds.json))
        return try JSONDocument(parsing: JSONContent.object(members).bytes).root
    }

    private func content(of name: String, _ value: JSONValue) throws -> JSONContent {
        guard name.hasSuffix("Date"), let text = value.string else { return .raw(Array(value.rawBytes)) }
        guard let date = Timestamp(iso8601: text) else { throw ScenarioError("event \(offset): \(name) is no date") }
        return date.milliseconds.json
    }
}

/// A scenario file that does not say what a scenario has to say.
package struct ScenarioError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
