import AppStore
import Entitlements
import JSON
import OpenSSL
import Records

/// One signed body of a scenario, written short: what it leaves out is filled in.
///
/// Members named `…Date` are ISO 8601 and become the milliseconds that Apple writes. A transaction
/// is by default its own original, of quantity 1, in Production; every payload is signed at the
/// event's time.
struct ScenarioEvent {
    let json: JSONValue
    let offset: Int64
    private let signedDate: Timestamp
    private let environment: String

    init(json: JSONValue, offset: Int64, signedLater: Int64 = 0) throws {
        guard let signed = json["signed"]?.string.flatMap({ Timestamp(iso8601: $0) }) else {
            throw ScenarioError("event \(offset) has no date in signed")
        }
        self.json = json
        self.offset = offset
        signedDate = Timestamp(milliseconds: signed.milliseconds + signedLater)
        environment = json["environment"]?.string ?? "Production"
    }

    func observation() throws -> Observation {
        let transaction = try json["transaction"].map { try payload($0, isTransaction: true) }
        let renewal = try json["renewalInfo"].map { try payload($0, isTransaction: false) }
        let app = try json["appTransaction"].map { try appTransaction($0) }
        return try Observation(
            SignedPayloads(
                transaction: transaction,
                renewalInfo: renewal,
                appTransaction: app
            ),
            source: ObservationSource(
                topic: "raw",
                partition: 0,
                offset: offset,
                timestamp: nil,
                index: 0,
                count: 1
            ),
            environment: Environment(rawValue: environment),
            bundleID: (transaction ?? app)?["bundleId"]?.identifier,
            verification: verification(),
            notification: notification(),
            ingestUserID: json["userID"]?.identifier
        )
    }

    private func notification() -> ObservedNotification? {
        json["notification"].map { notification in
            ObservedNotification(
                type: notification["type"]?.string ?? "",
                subtype: notification["subtype"]?.string,
                uuid: notification["uuid"]?.string ?? "notification-\(offset)",
                signedDate: signedDate
            )
        }
    }

    private func verification() throws -> VerificationFacts {
        let root = SHA256.digest(Array("root".utf8))
        let isForeign = json["trust"]?.string == "test"
        let isReceipt = json["track"]?.string == "receipt"
        return VerificationFacts(
            signedDate: signedDate,
            leaf: SHA256.digest(Array("leaf".utf8)),
            root: root,
            trust: isForeign ? .configured(root) : .apple,
            method: isReceipt ? .receipt : .jws,
            verifier: "scenario"
        )
    }

    /// Apple's statement about a copy of the app, which names its signed date otherwise.
    private func appTransaction(_ short: JSONValue) throws -> JSONValue {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in short.members {
            try write(key.string ?? "", value, to: &writer)
        }
        for (name, value) in [("bundleId", "com.example.app"), ("receiptType", environment)]
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
            ("bundleId", "com.example.app"),
            ("environment", environment),
            ("type", "Auto-Renewable Subscription"),
        ]
    }
}
