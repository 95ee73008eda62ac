package import AppStore

extension TransactionFact {
    /// The fact that a verified payload states; nil when it lacks what the verifier requires.
    ///
    /// - Parameters:
    ///   - environment: as the observation carries it.
    ///   - bundleID: as the observation carries it.
    package init?(
        _ payload: TransactionPayload,
        revision: Revision,
        environment: Environment,
        bundleID: String,
        track: Track,
        trust: Trust
    ) {
        guard let identity = TransactionIdentity(payload), let id = payload.transactionID else {
            return nil
        }
        self.init(
            key: TransactionKey(
                environment: environment,
                bundleID: bundleID,
                transactionID: id.string
            ),
            track: track,
            revision: revision,
            trust: trust,
            identity: identity,
            expiresDate: payload.expiresDate,
            revocation: Revocation(payload),
            isUpgraded: payload.isUpgraded,
            isFamilyShared: payload.ownershipType?.equals("FAMILY_SHARED") ?? false,
            subscriptionGroupID: payload.subscriptionGroupID?.string,
            appAccountToken: payload.appAccountToken,
            appTransactionID: payload.appTransactionID?.string,
            items: CommerceItem.items(of: payload.advancedCommerce)
        )
    }
}

extension TransactionIdentity {
    /// Nil when the payload lacks what the verifier requires of every transaction.
    package init?(_ payload: TransactionPayload) {
        guard let original = payload.originalTransactionID, let product = payload.productID,
            let purchaseDate = payload.purchaseDate
        else { return nil }
        self.init(
            originalTransactionID: original.string,
            productID: product.string,
            purchaseDate: purchaseDate,
            type: payload.type,
            quantity: payload.quantity
        )
    }
}

extension Revocation {
    /// A percentage outside of 0 to 100 % says nothing, so the whole is taken back.
    init?(_ payload: TransactionPayload) {
        guard let date = payload.revocationDate else { return nil }
        let percentage = payload.revocationPercentage.flatMap { percentage in
            (0...Self.wholePercentage).contains(percentage) ? percentage : nil
        }
        self.init(
            date: date,
            percentage: percentage,
            reason: payload.revocationReason,
            type: payload.revocationType?.string
        )
    }
}
