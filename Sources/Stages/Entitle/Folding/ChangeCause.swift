import AppStore
import Entitlements

/// Why rows became different, as `changes` names it.
struct ChangeCause {
    enum Kind: String {
        case transaction, renewal, notification, link
    }

    let kind: Kind
    let id: String?
    /// Nil where no body brought it, as with a link that was written late.
    let source: ObservationSource?

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
