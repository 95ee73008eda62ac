package import AppStore
package import JSON

/// The payloads of one item as Apple signed them, each with its parsed fields.
package struct SignedPayloads: Sendable {
    package let transaction: ReadPayload<TransactionPayload>?
    package let renewalInfo: ReadPayload<RenewalPayload>?
    package let appTransaction: ReadPayload<AppTransactionPayload>?
    /// The receipt's fields about the app, if the transaction is one of the receipt's records; they are only
    /// forwarded, and no stage uses them for a decision.
    package let receipt: JSONValue?

    /// Makes the payloads of an item that the verifier has just read.
    package init(_ item: VerifiedItem) {
        transaction = item.transaction
        renewalInfo = item.renewalInfo
        appTransaction = item.appTransaction
        receipt = item.receipt
    }

    /// Makes payloads that the verifier accepted earlier.
    package init(
        transaction: JSONValue? = nil, renewalInfo: JSONValue? = nil, appTransaction: JSONValue? = nil,
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
