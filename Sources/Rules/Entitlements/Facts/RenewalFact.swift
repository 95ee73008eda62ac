package import AppStore

/// The facts of a renewal info's newest revision; the account token and the `appTransactionId` are from the newest
/// revision that contains them.
package struct RenewalFact: Hashable, Sendable {
    package var key: RenewalKey
    package var revision: Revision
    package var productID: Identifier?
    package var autoRenewProductID: Identifier?
    package var autoRenewStatus: Int32?
    package var isInBillingRetry: Bool?
    /// Whether the customer has consented to a price increase: 0 or 1, as signed.
    ///
    /// `nil` without a price increase that requires consent.
    package var priceIncreaseStatus: Int32?
    package var expirationIntent: Int32?
    package var renewalDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var appAccountToken: AccountToken?
    package var appTransactionID: Identifier?
    package var olderNaming = OlderNaming()

    package init(key: RenewalKey, revision: Revision) {
        self.key = key
        self.revision = revision
    }

    /// The periods in the renewal info; a period counts from every revision, even a superseded one.
    package var spans: [RenewalSpan] {
        gracePeriodExpiresDate.map { [RenewalSpan(.grace, from: renewalDate, until: $0)] } ?? []
    }
}

extension RenewalFact: OwnerNaming {
    package var environment: Environment { key.environment }

    /// Merges two renewal infos: the greater revision counts, with the names that only the older one contains.
    package func joined(with other: RenewalFact) -> RenewalFact {
        var (newest, older) = revision < other.revision ? (other, self) : (self, other)
        newest.keepNames(of: older)
        return newest
    }
}

extension RenewalFact: FactMembers {
    package static let blank = RenewalFact(
        key: RenewalKey(environment: .production, originalTransactionID: "", trust: .apple), revision: .blank)

    package mutating func visitMembers<Visitor: FactMemberVisitor>(_ visitor: inout Visitor) throws(Visitor.Failure) {
        try visitor.visit("productID", &productID)
        try visitor.visit("autoRenewProductID", &autoRenewProductID)
        try visitor.visit("autoRenewStatus", &autoRenewStatus)
        try visitor.visit("isInBillingRetry", &isInBillingRetry)
        try visitor.visit("priceIncreaseStatus", &priceIncreaseStatus)
        try visitor.visit("expirationIntent", &expirationIntent)
        try visitor.visit("renewalDate", &renewalDate)
        try visitor.visit("gracePeriodExpiresDate", &gracePeriodExpiresDate)
        try visitor.visit("appAccountToken", &appAccountToken)
        try visitor.visit("appTransactionID", &appTransactionID)
    }
}

/// A period that Apple once stated; a later renewal info no longer contains it.
package struct RenewalSpan: Hashable, Comparable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// A billing grace period, which begins at the end of the period that was not renewed.
        case grace

        /// The name of the signed member that contains the period's end.
        package var endMember: String {
            switch self {
            case .grace: "gracePeriodExpiresDate"
            }
        }
    }

    package var kind: Kind
    /// The start as signed.
    ///
    /// `nil` if Apple did not state it.
    package var start: Timestamp?
    package var end: Timestamp

    package init(_ kind: Kind, from start: Timestamp? = nil, until end: Timestamp) {
        self.kind = kind
        self.start = start
        self.end = end
    }

    /// The start if it is before the end.
    ///
    /// `nil` if Apple stated no start, or an impossible date.
    package var anchor: Timestamp? { start.flatMap { $0 < end ? $0 : nil } }

    package static func < (left: RenewalSpan, right: RenewalSpan) -> Bool {
        (left.kind.rawValue, left.end, left.start ?? .earliest) < (
            right.kind.rawValue, right.end, right.start ?? .earliest
        )
    }
}

extension RenewalFact {
    /// Makes the fact of a verified renewal info.
    ///
    /// `nil` if it names no subscription.
    package init?(_ payload: RenewalPayload, revision: Revision, environment: Environment, trust: Trust) {
        guard let original = payload.originalTransactionID else { return nil }
        self.init(
            key: RenewalKey(environment: environment, originalTransactionID: original.identifier, trust: trust),
            revision: revision)
        productID = payload.productID?.identifier
        autoRenewProductID = payload.autoRenewProductID?.identifier
        autoRenewStatus = payload.autoRenewStatus
        isInBillingRetry = payload.isInBillingRetryPeriod
        priceIncreaseStatus = payload.priceIncreaseStatus
        expirationIntent = payload.expirationIntent
        renewalDate = payload.renewalDate
        gracePeriodExpiresDate = payload.gracePeriodExpiresDate
        appAccountToken = payload.appAccountToken
        appTransactionID = payload.appTransactionID?.identifier
    }
}
