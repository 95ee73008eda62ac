/// A mistake that was found in other systems; each has scenarios that end otherwise with it.
package enum KnownDefect: String, CaseIterable, Sendable {
    case arrivalOrder = "arrival order overwrites"
    case refundForEver = "a refunded subscription never active again after renewal or reversal"
    case revokedSpelling = "REVOKED matched where Apple sends REVOKE"
    case earlyDowngrade = "a downgrade applied at once"
    case unknownUser = "unknown user dropped"
    case earlierRefund = "a refund of an earlier period ignored or ending the current one"
    case sandbox = "Sandbox making a row active"
    case transferToBoth = "a transfer leaving both users entitled"
    case secondIdentity = "a missing token creating a second identity"
    case tokenlessRenewal = "a tokenless renewal before its purchase staying without owner"
    case droppedReversal = "a reversal dropped as duplicate"
    case forgottenDate = "A@1, A@3, B@2 in any order ending in B"
    case lateRefund = "a late refund winning after the dedupe memory was pruned"
    case backfill = "the newest token taken by signed date, so that a backfill hands a purchase back"
    case withdrawnToken = "a transaction signed again without its token losing its owner"
}
