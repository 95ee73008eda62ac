/// The App Store Server Notification that delivered an observation.
///
/// Values are kept as Apple wrote them: a type or subtype that this version does not know is
/// recorded, counted and alerted on.
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
