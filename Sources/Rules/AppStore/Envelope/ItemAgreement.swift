import JSON

/// A check that all JWS of one item are about the same purchase.
struct ItemAgreement {
    private var transaction: (statement: SignedStatement, fields: TransactionPayload)?
    private var renewal: (statement: SignedStatement, fields: RenewalPayload)?
    private var notification: (statement: SignedStatement, fields: NotificationPayload)?
    private let inner: [SignedStatement]

    init(_ statements: [SignedStatement]) {
        for statement in statements {
            switch statement.fields {
            case .transaction(let fields): transaction = (statement, fields)
            case .renewalInfo(let fields): renewal = (statement, fields)
            case .notification(let fields): notification = (statement, fields)
            case .appTransaction: break
            }
        }
        inner = statements.filter { $0.fields.kind != .notification }
    }

    func check() throws(Fault) {
        if let notification { for item in inner { try check(item, with: notification.statement) } }
        if let transaction, let renewal { try check(transaction, with: renewal) }
    }

    private func check(_ item: SignedStatement, with notification: SignedStatement) throws(Fault) {
        guard item.environment == notification.environment else {
            throw Fault(.itemMismatch, "an item and its notification have two environments")
        }
        guard let app = item.app, let named = notification.app else { return }
        guard app.bundleID == named.bundleID else {
            throw Fault(.itemMismatch, "an item and its notification belong to two apps")
        }
    }

    private func check(
        _ transaction: (statement: SignedStatement, fields: TransactionPayload),
        with renewal: (statement: SignedStatement, fields: RenewalPayload)
    ) throws(Fault) {
        guard let purchase = transaction.fields.originalTransactionID,
            renewal.fields.originalTransactionID?.bytes == purchase.bytes
        else { throw Fault(.itemMismatch, "transaction and renewal info belong to two purchases") }
        guard transaction.statement.environment == renewal.statement.environment else {
            throw Fault(.itemMismatch, "transaction and renewal info have two environments")
        }
        let trust = transaction.statement.anchor.trust
        guard renewal.statement.chain.anchors.contains(where: { $0.trust == trust }) else {
            throw Fault(.itemMismatch, "transaction and renewal info have two roots")
        }
    }
}
