package import AppStore

package struct RenewalFact: Hashable, Sendable {
    package var key: RenewalKey
    package var revision: Revision
    package var productID: Identifier?
    package var autoRenewProductID: Identifier?
    package var autoRenewStatus: Int32?
    package var isInBillingRetry: Bool?
    package var expirationIntent: Int32?
    package var renewalDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var appAccountToken: AccountToken?
    package var appTransactionID: Identifier?

    package init(
        key: RenewalKey,
        revision: Revision,
        productID: Identifier? = nil,
        autoRenewProductID: Identifier? = nil,
        autoRenewStatus: Int32? = nil,
        isInBillingRetry: Bool? = nil,
        expirationIntent: Int32? = nil,
        renewalDate: Timestamp? = nil,
        gracePeriodExpiresDate: Timestamp? = nil,
        appAccountToken: AccountToken? = nil,
        appTransactionID: Identifier? = nil
    ) {
        self.key = key
        self.revision = revision
        self.productID = productID
        self.autoRenewProductID = autoRenewProductID
        self.autoRenewStatus = autoRenewStatus
        self.isInBillingRetry = isInBillingRetry
        self.expirationIntent = expirationIntent
        self.renewalDate = renewalDate
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.appAccountToken = appAccountToken
        self.appTransactionID = appTransactionID
    }

    /// The grace that it grants, if any; counts from every revision, even a superseded one.
    package var grace: GracePeriod? {
        gracePeriodExpiresDate.map {
            GracePeriod(expiresDate: $0, renewalDate: renewalDate)
        }
    }
}

/// A billing grace period that Apple once granted; later renewal info no longer names it.
package struct GracePeriod: Hashable, Comparable, Sendable {
    package var expiresDate: Timestamp
    /// The end of the period that could not be renewed; nil if Apple did not state it.
    package var renewalDate: Timestamp?

    package init(expiresDate: Timestamp, renewalDate: Timestamp? = nil) {
        self.expiresDate = expiresDate
        self.renewalDate = renewalDate
    }

    /// The end of the period that it follows; nil if Apple did not state it, or stated an
    /// impossible date.
    package var anchor: Timestamp? {
        renewalDate.flatMap { $0 < expiresDate ? $0 : nil }
    }

    package static func < (left: GracePeriod, right: GracePeriod) -> Bool {
        (left.expiresDate, left.renewalDate ?? .earliest)
            < (right.expiresDate, right.renewalDate ?? .earliest)
    }
}

extension RenewalFact {
    /// The fact of a verified renewal info; nil if it names no subscription.
    package init?(
        _ payload: RenewalPayload,
        revision: Revision,
        environment: Environment,
        trust: Trust
    ) {
        guard let original = payload.originalTransactionID else { return nil }
        self.init(
            key: RenewalKey(
                environment: environment,
                originalTransactionID: original.identifier,
                trust: trust
            ),
            revision: revision,
            productID: payload.productID?.identifier,
            autoRenewProductID: payload.autoRenewProductID?.identifier,
            autoRenewStatus: payload.autoRenewStatus,
            isInBillingRetry: payload.isInBillingRetryPeriod,
            expirationIntent: payload.expirationIntent,
            renewalDate: payload.renewalDate,
            gracePeriodExpiresDate: payload.gracePeriodExpiresDate,
            appAccountToken: payload.appAccountToken,
            appTransactionID: payload.appTransactionID?.identifier
        )
    }
}
