import AppStore
import JSON
import OpenSSL

extension Observation {
    /// The record value, as `schemas/topics/verified.schema.json` describes it.
    package func encode() -> [UInt8] {
        var writer = JSONWriter(reserving: 768 + payloadBytes)
        writer.beginObject()
        writer.key("schemaVersion")
        writer.int(Self.schemaVersion)
        if let source {
            write(source, to: &writer)
        }
        writer.key("environment")
        writer.string(environment.rawValue)
        writer.key("bundleID")
        if let bundleID { writer.string(bundleID) } else { writer.null() }
        writePayloads(to: &writer)
        if notification != nil {
            writer.key("notification")
            write(notification: notification, to: &writer)
        }
        if let verification {
            write(verification, to: &writer)
        }
        write(claims, to: &writer)
        writer.optionalString("ingestUserID", ingestUserID)
        writeOutcome(to: &writer)
        writer.endObject()
        return writer.bytes
    }

    /// What `encode()` writes at most, known without writing it.
    package var encodedBytesMax: Int {
        var texts = [environment.rawValue, bundleID, source?.topic, relinkedPurchase]
        texts += [notification?.type, notification?.subtype, notification?.uuid]
        texts += [
            claims.transactionID, claims.originalTransactionID, claims.productID, claims.offerID,
            ingestUserID, owner?.userID, owner?.rule, verification?.verifier,
        ]
        let textBytes = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return Self.frameBytesMax + payloadBytes + textBytes * JSONWriter.escapeBytesMax
    }

    /// The names of all members, with every number and digest.
    private static let frameBytesMax = 1_024

    private var payloadBytes: Int {
        (transaction?.range.count ?? 0) + (renewalInfo?.range.count ?? 0)
            + (appTransaction?.range.count ?? 0) + (receipt?.range.count ?? 0)
    }

    private func writePayloads(to writer: inout JSONWriter) {
        if let transaction {
            writer.key("transaction")
            writer.raw(transaction.rawBytes)
        }
        if let renewalInfo {
            writer.key("renewalInfo")
            writer.raw(renewalInfo.rawBytes)
        }
        if let appTransaction {
            writer.key("appTransaction")
            writer.raw(appTransaction.rawBytes)
        }
        if let receipt {
            writer.key("receipt")
            writer.raw(receipt.rawBytes)
        }
    }

    private func writeOutcome(to writer: inout JSONWriter) {
        if let owner {
            writer.key("owner")
            writer.beginObject()
            writer.key("userID")
            if let userID = owner.userID { writer.string(userID) } else { writer.null() }
            writer.key("rule")
            writer.string(owner.rule)
            writer.endObject()
        }
        writer.optionalString("relinkedPurchase", relinkedPurchase)
        if isDuplicate {
            writer.key("isDuplicate")
            writer.bool(true)
        }
    }

    private func write(_ source: ObservationSource, to writer: inout JSONWriter) {
        writer.key("source")
        writer.beginObject()
        writer.key("topic")
        writer.string(source.topic)
        writer.key("partition")
        writer.int(Int64(source.partition))
        writer.key("offset")
        writer.int(source.offset)
        if let timestamp = source.timestamp {
            writer.key("timestamp")
            writer.int(timestamp.milliseconds)
        }
        writer.key("index")
        writer.int(Int64(source.index))
        writer.key("count")
        writer.int(Int64(source.count))
        writer.endObject()
    }

    private func write(_ verification: VerificationFacts, to writer: inout JSONWriter) {
        writer.key("verification")
        writer.beginObject()
        writer.key("signedDate")
        writer.int(verification.signedDate.milliseconds)
        writer.key("leaf")
        writer.string(verification.leaf.hex)
        writer.key("root")
        writer.string(verification.root.hex)
        writer.key("trust")
        writer.string(verification.trust.text)
        writer.key("method")
        writer.string(verification.method.rawValue)
        writer.key("verifier")
        writer.string(verification.verifier)
        writer.endObject()
    }

    private func write(_ claims: ObservationClaims, to writer: inout JSONWriter) {
        guard !claims.isEmpty else { return }
        writer.key("claims")
        writer.beginObject()
        writer.optionalString("transactionID", claims.transactionID)
        writer.optionalString("originalTransactionID", claims.originalTransactionID)
        writer.optionalString("productID", claims.productID)
        writer.optionalString("offerID", claims.offerID)
        writer.endObject()
    }

    func write(notification: ObservedNotification?, to writer: inout JSONWriter) {
        guard let notification else { return writer.null() }
        writer.beginObject()
        writer.key("type")
        writer.string(notification.type)
        writer.optionalString("subtype", notification.subtype)
        writer.optionalString("uuid", notification.uuid)
        writer.key("signedDate")
        writer.int(notification.signedDate.milliseconds)
        writer.endObject()
    }
}
