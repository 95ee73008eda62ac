/// What happens to a purchase when a later transaction names another user.
package enum OwnershipPolicy: String, CaseIterable, Sendable {
    /// The newest owner wins, from that transaction's purchase date on.
    case transfer
    /// The first owner by purchase date stays.
    case keep
    /// The newest owner wins only if no paid period was running at that purchase date.
    case transferIfInactive = "transfer_if_inactive"
}
