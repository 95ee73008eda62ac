package import AppStore
package import JSON

/// The payloads of one item, as Apple signed them, each with what it says.
package struct SignedPayloads: Sendable {
    package let transaction: ReadPayload<TransactionPayload>?
    package let renewalInfo: ReadPayload<RenewalPayload>?
    package let appTransaction: ReadPayload<AppTransactionPayload>?
    /// What the receipt says of the app, where the transaction is a record of one: no stage decides
    /// by it, and it travels with the others.
    package let receipt: JSONValue?

    /// What the verifier has read already.
    package init(_ item: VerifiedItem) {
        transaction = item.transaction
        renewalInfo = item.renewalInfo
        appTransaction = item.appTransaction
        receipt = item.receipt
    }

    /// Payloads that the verifier accepted at another time.
    package init(
        transaction: JSONValue? = nil,
        renewalInfo: JSONValue? = nil,
        appTransaction: JSONValue? = nil,
        receipt: JSONValue? = nil
    ) {
        self.transaction = transaction.map { ReadPayload($0, TransactionPayload($0)) }
        self.renewalInfo = renewalInfo.map { ReadPayload($0, RenewalPayload($0)) }
        self.appTransaction = appTransaction.map { ReadPayload($0, AppTransactionPayload($0)) }
        self.receipt = receipt
    }
}

/// The payloads that an item may have; the raw values are their names in an observation.
package enum SignedPayloadKind: String, CaseIterable, Sendable {
    case transaction, renewalInfo, appTransaction, receipt
}
