package import AppStore

extension Observation {
    /// What a verified body's item becomes on `verified`.
    package init(_ item: VerifiedItem, source: ObservationSource, ingestUserID: String? = nil) {
        self.init(
            source: source,
            environment: item.environment,
            bundleID: item.bundleID,
            transaction: item.transaction?.json,
            renewalInfo: item.renewalInfo?.json,
            appTransaction: item.appTransaction?.json,
            receipt: item.receipt,
            notification: item.observedNotification,
            verification: item.verification,
            claims: item.claims,
            ingestUserID: ingestUserID
        )
    }
}
