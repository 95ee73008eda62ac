import AppStore
import Entitlements
import Records

/// Why rows became different, as `changes` names it.
package struct ChangeCause: Sendable {
    package enum Kind: String, Sendable {
        case transaction, renewal, notification, link, catalog, rebuild
    }

    let kind: Kind
    let id: String?
    /// Nil where no body brought it, as with a link that was written late.
    let source: ObservationSource?

    /// Something that no record brought.
    init(_ kind: Kind, id: String? = nil) {
        self.kind = kind
        self.id = id
        source = nil
    }

    init(_ record: EntitleRecord) {
        let observation = record.observation
        source = observation.source
        if let notification = observation.notification {
            kind = .notification
            id = notification.uuid
        } else if let transaction = record.transaction {
            kind = .transaction
            id = transaction.key.transactionID
        } else if let renewal = record.renewal {
            kind = .renewal
            id = renewal.key.originalTransactionID
        } else {
            kind = .link
            id = observation.owner?.rule
        }
    }
}
