package import AppStore

/// That Apple took a transaction back: a refund, or a family member's loss of sharing.
package struct Revocation: Hashable, Sendable {
    package var date: Timestamp
    /// Milliunits of the price that was refunded (50000 is one half); nil means all of it.
    package var percentage: Int32?
    package var reason: Int32?
    package var type: String?

    package init(
        date: Timestamp,
        percentage: Int32? = nil,
        reason: Int32? = nil,
        type: String? = nil
    ) {
        self.date = date
        self.percentage = percentage
        self.reason = reason
        self.type = type
    }

    package static let wholePercentage: Int32 = 100_000
}
