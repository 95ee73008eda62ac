package import AppStore

/// What the newest renewal info of a subscription says.
package struct RenewalFact: Hashable, Sendable {
    package var key: RenewalKey
    package var revision: Revision
    package var productID: String?
    package var autoRenewProductID: String?
    package var autoRenewStatus: Int32?
    package var isInBillingRetry: Bool?
    package var expirationIntent: Int32?
    package var renewalDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var appAccountToken: AccountToken?
    package var appTransactionID: String?

    package init(
        key: RenewalKey,
        revision: Revision,
        productID: String? = nil,
        autoRenewProductID: String? = nil,
        autoRenewStatus: Int32? = nil,
        isInBillingRetry: Bool? = nil,
        expirationIntent: Int32? = nil,
        renewalDate: Timestamp? = nil,
        gracePeriodExpiresDate: Timestamp? = nil,
        appAccountToken: AccountToken? = nil,
        appTransactionID: String? = nil
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

    /// The grace it grants, if it grants one; every revision's counts, also a superseded one's.
    package var grace: GracePeriod? {
        gracePeriodExpiresDate.map {
            GracePeriod(expiresDate: $0, renewalDate: renewalDate)
        }
    }
}
