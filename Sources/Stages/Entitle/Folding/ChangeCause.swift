import AppStore
import Entitlements
import Records
import Store

extension ChangeCause {
    init(_ record: EntitleRecord) {
        let observation = record.observation
        let source = observation.source
        if let notification = observation.notification {
            self.init(.notification, id: notification.uuid, source: source)
        } else if let transaction = record.transaction {
            self.init(.transaction, id: transaction.key.transactionID, source: source)
        } else if let renewal = record.renewal {
            self.init(.renewal, id: renewal.key.originalTransactionID, source: source)
        } else {
            self.init(.link, id: observation.owner?.rule, source: source)
        }
    }
}
