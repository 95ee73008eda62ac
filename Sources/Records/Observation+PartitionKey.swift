import AppStore
import Entitlements
import JSON
import OpenSSL

extension Observation {
    /// The record key on `verified`, `unique` and `linked`.
    ///
    /// `<environment>/<originalTransactionId>`, where there is none
    /// `<environment>/app/<appTransactionId>` or `<environment>/notification/<UUID>`, and where
    /// there is none of them the SHA-256 of the payload in its place. It keeps one purchase's
    /// history in one partition, for speed and readable logs; correctness never rests on it.
    package var partitionKey: [UInt8] {
        var key = Array(environment.rawValue.utf8)
        key.append(UInt8(ascii: "/"))
        key.append(contentsOf: partitionKeySuffix.utf8)
        return key
    }

    private var partitionKeySuffix: String {
        if let originalTransactionID {
            return originalTransactionID
        }
        if let id = facts.appTransaction?.appTransactionID {
            return "app/" + id
        }
        if let uuid = notification?.uuid {
            return "notification/" + uuid
        }
        if let payload = payloads[.appTransaction] {
            return "app/" + SHA256.digest(payload).hex
        }
        return "notification/" + SHA256.digest(notificationIdentity).hex
    }

    /// A notification has no payload of its own in an observation: what is known of it stands in.
    private var notificationIdentity: [UInt8] {
        var writer = JSONWriter(reserving: 128)
        if let notification { notification.write(to: &writer) } else { writer.null() }
        return writer.bytes
    }
}
