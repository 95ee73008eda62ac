package import AppStore

extension RenewalFact {
    /// The fact that a verified renewal info states; nil when it names no subscription.
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
                originalTransactionID: original.string,
                trust: trust
            ),
            revision: revision,
            productID: payload.productID?.string,
            autoRenewProductID: payload.autoRenewProductID?.string,
            autoRenewStatus: payload.autoRenewStatus,
            isInBillingRetry: payload.isInBillingRetryPeriod,
            expirationIntent: payload.expirationIntent,
            renewalDate: payload.renewalDate,
            gracePeriodExpiresDate: payload.gracePeriodExpiresDate,
            appAccountToken: payload.appAccountToken,
            appTransactionID: payload.appTransactionID?.string
        )
    }
}
