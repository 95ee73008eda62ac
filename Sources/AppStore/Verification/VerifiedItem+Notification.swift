extension VerifiedItem {
    /// The notification's facts as an observation carries them; nil where it came by none.
    package var observedNotification: ObservedNotification? {
        guard let notification else { return nil }
        return ObservedNotification(
            type: notification.fields.type?.string ?? "",
            subtype: notification.fields.subtype?.string,
            uuid: notification.fields.uuid?.string,
            signedDate: notification.signedDate
        )
    }
}
