/// The App Store Server Notification that an observation came by.
///
/// Values are kept as Apple wrote them: a type or subtype that this version does not know travels
/// on, to be recorded, counted and alerted.
package struct ObservedNotification: Hashable, Sendable {
    package var type: String
    package var subtype: String?
    /// `notificationUUID`: identical on each of Apple's retries.
    package var uuid: String?
    package var signedDate: Timestamp

    package init(type: String, subtype: String?, uuid: String?, signedDate: Timestamp) {
        self.type = type
        self.subtype = subtype
        self.uuid = uuid
        self.signedDate = signedDate
    }
}
