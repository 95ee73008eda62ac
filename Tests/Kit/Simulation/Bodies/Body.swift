import AppStore
import JSON

/// The shapes of bodies in which ingestion services forward what Apple signed.
package enum Body {
    /// A notification, as Apple's servers post it.
    package static func notification(_ jws: [UInt8]) -> [UInt8] { object("signedPayload", jws) }

    /// A transaction, as an app posts it with claims as raw JSON.
    package static func transaction(_ jws: [UInt8], claims: KeyValuePairs<String, String> = [:]) -> [UInt8] {
        object("signedTransaction", jws, claims)
    }

    /// A page of `Get Transaction History`.
    package static func history(_ transactions: [[UInt8]], members: KeyValuePairs<String, String> = [:]) -> [UInt8] {
        (raw(members) + ["signedTransactions": transactions.map(text)]).bytes
    }

    /// A receipt in base64, as an old app posts it.
    package static func receipt(_ text: [UInt8], members: KeyValuePairs<String, String> = [:]) -> [UInt8] {
        object("receipt-data", text, members)
    }

    /// The answer of `Get Transaction Info`.
    package static func transactionInfo(_ jws: [UInt8]) -> [UInt8] { object("signedTransactionInfo", jws) }

    /// A renewal info in its field of an API response.
    package static func renewalInfo(_ jws: [UInt8]) -> [UInt8] { object("signedRenewalInfo", jws) }

    /// The answer of `Get App Transaction Info`.
    package static func appTransactionInfo(_ jws: [UInt8]) -> [UInt8] { object("signedAppTransactionInfo", jws) }

    /// The answer of `Get All Subscription Statuses`, one group with one purchase in it.
    package static func subscriptionStatuses(
        environment: String, bundleID: String, originalTransactionID: String, transaction: [UInt8], renewal: [UInt8],
        status: Int = 1
    ) -> [UInt8] {
        let purchase: JSONContent = [
            "status": status, "originalTransactionId": originalTransactionID,
            "signedTransactionInfo": text(transaction), "signedRenewalInfo": text(renewal),
        ]
        let group: JSONContent = ["subscriptionGroupIdentifier": "21000001", "lastTransactions": [purchase]]
        let body: JSONContent = ["environment": environment, "bundleId": bundleID, "data": [group]]
        return body.bytes
    }

    /// A page of `Get Notification History`.
    package static func notificationHistory(_ payloads: [[UInt8]]) -> [UInt8] {
        let entries = payloads.map { ["signedPayload": text($0)] }
        let page: JSONContent = ["hasMore": false, "notificationHistory": entries]
        return page.bytes
    }

    private static func object(_ name: String, _ jws: [UInt8], _ members: KeyValuePairs<String, String> = [:])
        -> [UInt8]
    { ([name: text(jws)] + raw(members)).bytes }

    private static func raw(_ members: KeyValuePairs<String, String>) -> JSONContent {
        .object(members.map { ($0.key, .raw(Array($0.value.utf8))) })
    }

    private static func text(_ utf8: [UInt8]) -> String { String(decoding: utf8, as: UTF8.self) }
}

/// Writes base64 as JWS and `x5c` need it.
package enum Base64Text {
    /// RFC 4648 §4, with padding.
    package static func standard(_ bytes: [UInt8]) -> [UInt8] { Base64.standard.encode(bytes) }

    /// RFC 4648 §5, without padding.
    package static func url(_ bytes: [UInt8]) -> [UInt8] { Base64.url.encode(bytes) }
}
