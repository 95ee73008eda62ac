/// The App Store Server Notification that delivered an observation.
///
/// Values are stored as Apple wrote them: an unknown type or subtype is recorded, counted and alerted on.
package struct ObservedNotification: Hashable, Sendable {
    package var type: String
    package var subtype: String?
    /// The member `notificationUUID`: identical on each of Apple's retries.
    package var uuid: String?
    package var signedDate: Timestamp
    /// The member `consumptionRequestReason` of a `CONSUMPTION_REQUEST`: why the customer asks for a refund.
    package var consumptionRequestReason: String?

    package init(
        type: String, subtype: String?, uuid: String?, signedDate: Timestamp, consumptionRequestReason: String? = nil
    ) {
        self.type = type
        self.subtype = subtype
        self.uuid = uuid
        self.signedDate = signedDate
        self.consumptionRequestReason = consumptionRequestReason
    }
}
