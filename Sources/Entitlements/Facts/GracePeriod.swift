package import AppStore

/// A billing grace period that Apple once granted; later renewal info no longer names it.
package struct GracePeriod: Hashable, Comparable, Sendable {
    package var expiresDate: Timestamp
    /// When the period that could not be renewed ended; nil when Apple did not say.
    package var renewalDate: Timestamp?

    package init(expiresDate: Timestamp, renewalDate: Timestamp? = nil) {
        self.expiresDate = expiresDate
        self.renewalDate = renewalDate
    }

    /// When the period ended that it follows; nil where Apple did not say, or named a date that
    /// cannot be it.
    package var anchor: Timestamp? {
        renewalDate.flatMap { $0 < expiresDate ? $0 : nil }
    }

    package static func < (left: GracePeriod, right: GracePeriod) -> Bool {
        (left.expiresDate, left.renewalDate ?? .earliest)
            < (right.expiresDate, right.renewalDate ?? .earliest)
    }
}
