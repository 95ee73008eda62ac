import AppStore
import Entitlements
import Records
import Store

/// The reason for a projection; it appears as a cause in the change feed only if a row changes.
enum ProjectionOccasion {
    case record(EntitleRecord)
    /// A cause without a record.
    case other(ChangeCause)

    var cause: ChangeCause {
        switch self {
        case .record(let record): ChangeCause(record)
        case .other(let cause): cause
        }
    }
}

extension ChangeCause {
    fileprivate init(_ record: EntitleRecord) {
        let source = record.source
        if let notification = record.notification {
            self.init(.notification, id: notification.uuid, source: source)
        } else if let transaction = record.transaction {
            self.init(.transaction, id: transaction.key.transactionID.text, source: source)
        } else if let renewal = record.renewal {
            self.init(.renewal, id: renewal.key.originalTransactionID.text, source: source)
        } else {
            self.init(.link, id: record.owner?.rule, source: source)
        }
    }
}
