internal import JSON

/// The shapes of bodies in which ingestion services forward what Apple signed.
package enum Body {
    /// A notification, as Apple's servers post it.
    package static func notification(_ jws: [UInt8]) -> [UInt8] {
        object([("signedPayload", jws)])
    }

    /// A transaction, as an app posts it with claims as raw JSON.
    package static func transaction(
        _ jws: [UInt8],
        claims: KeyValuePairs<String, String> = [:]
    ) -> [UInt8] {
        object([("signedTransaction", jws)], members: claims)
    }

    /// A page of `Get Transaction History`.
    package static func history(
        _ transactions: [[UInt8]],
        members: KeyValuePairs<String, String> = [:]
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        append(members, to: &writer)
        writer.key("signedTransactions")
        writer.beginArray()
        for jws in transactions {
            writer.string(utf8: jws)
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// A receipt in base64, as an old app posts it.
    package static func receipt(
        _ text: [UInt8],
        members: KeyValuePairs<String, String> = [:]
    ) -> [UInt8] {
        object([("receipt-data", text)], members: members)
    }

    /// The answer of `Get Transaction Info`.
    package static func transactionInfo(_ jws: [UInt8]) -> [UInt8] {
        object([("signedTransactionInfo", jws)])
    }

    /// A renewal info in its field of an API response.
    package static func renewalInfo(_ jws: [UInt8]) -> [UInt8] {
        object([("signedRenewalInfo", jws)])
    }

    /// The answer of `Get App Transaction Info`.
    package static func appTransactionInfo(_ jws: [UInt8]) -> [UInt8] {
        object([("signedAppTransactionInfo", jws)])
    }

    /// The answer of `Get All Subscription Statuses`, one group with one purchase in it.
    package static func subscriptionStatuses(
        environment: String,
        bundleID: String,
        originalTransactionID: String,
        transaction: [UInt8],
        renewal: [UInt8],
        status: Int = 1
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("environment")
        writer.string(environment)
        writer.key("bundleId")
        writer.string(bundleID)
        writer.key("data")
        writer.beginArray()
        writer.beginObject()
        writer.key("subscriptionGroupIdentifier")
        writer.string("21000001")
        writer.key("lastTransactions")
        writer.beginArray()
        writer.beginObject()
        writer.key("status")
        writer.int(status)
        writer.key("originalTransactionId")
        writer.string(originalTransactionID)
        writer.key("signedTransactionInfo")
        writer.string(utf8: transaction)
        writer.key("signedRenewalInfo")
        writer.string(utf8: renewal)
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// A page of `Get Notification History`.
    package static func notificationHistory(_ payloads: [[UInt8]]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("hasMore")
        writer.bool(false)
        writer.key("notificationHistory")
        writer.beginArray()
        for jws in payloads {
            writer.raw(object([("signedPayload", jws)]))
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private static func object(
        _ tokens: [(String, [UInt8])],
        members: KeyValuePairs<String, String> = [:]
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, jws) in tokens {
            writer.key(key)
            writer.string(utf8: jws)
        }
        append(members, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func append(
        _ members: KeyValuePairs<String, String>,
        to writer: inout JSONWriter
    ) {
        for (key, raw) in members {
            writer.key(key)
            writer.raw(raw.utf8)
        }
    }
}
