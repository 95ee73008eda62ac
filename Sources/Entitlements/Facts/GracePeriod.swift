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

    package static func < (left: GracePeriod, right: GracePeriod) -> Bool {
        (left.expiresDate, left.renewalDate ?? .earliest)
            < (right.expiresDate, right.renewalDate ?? .earliest)
    }
}
