extension Observation {
    /// What a verified body's item becomes on `verified`.
    package init(_ item: VerifiedItem, source: ObservationSource) {
        self.init(
            source: source,
            environment: item.environment,
            bundleID: item.bundleID,
            transaction: item.transaction?.json,
            renewalInfo: item.renewalInfo?.json,
            appTransaction: item.appTransaction?.json,
            notification: item.notification.map(ObservedNotification.init),
            verification: item.verification,
            claims: item.claims
        )
    }
}

extension ObservedNotification {
    fileprivate init(_ part: SignedPart<NotificationPayload>) {
        self.init(
            type: part.fields.type?.string ?? "",
            subtype: part.fields.subtype?.string,
            uuid: part.fields.uuid?.string,
            signedDate: part.signedDate
        )
    }
}
