import AppStore
import Derivation
import Holdings
import Records
import Store

/// The answer about a user for the request that waits for a record.
struct UserAnswer {
    /// The owner of the record's purchase, and the rule that found it.
    ///
    /// `nil` if the record has no purchase and no known account.
    let owner: ObservedOwner?
    /// The user's entitlements in the record's environment.
    ///
    /// `nil` if the user is unknown, or the record is not the last of its body.
    let held: HeldEntitlements?
    /// Whether this record itself was the first with its content.
    ///
    /// A record that is read again is no duplicate.
    let hasBroughtContent: Bool

    func outcome(_ outcome: EntitleOutcome, isAboutPurchase: Bool) -> Outcome {
        var answer = Outcome(status(outcome, isAboutPurchase: isAboutPurchase))
        if let userID = owner?.userID { answer.add(userID, holds: held) }
        answer.ownerRule = owner?.rule
        if case .conflict = outcome { answer.reason = RefusalReason.transactionConflict.rawValue }
        return answer
    }

    private func status(_ outcome: EntitleOutcome, isAboutPurchase: Bool) -> Outcome.Status {
        switch outcome {
        case .conflict: .deadLettered
        case .recorded: .recorded
        case .superseded: .superseded
        case .unchanged where !hasBroughtContent: .duplicate
        case .applied, .unchanged: isAboutPurchase && owner?.userID == nil ? .unlinked : .applied
        }
    }
}
