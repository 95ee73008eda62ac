import AppStore
import JSON
import Synchronization

/// An account token that a server has set for a purchase.
package struct SetAccountToken: Hashable, Sendable {
    package let originalID: String
    package let token: String
}

extension AppleWorld {
    /// The account tokens in the order in which they were set.
    package var accountTokens: [SetAccountToken] { state.withLock(\.accountTokens) }

    /// The token with which Apple signs a purchase's later transactions.
    ///
    /// `nil` if no server has set one.
    package func accountToken(of originalID: String) -> String? {
        accountTokens.last { $0.originalID == originalID }?.token
    }

    /// Sets the account token of a purchase and signs its last transaction with it, as Apple does by its page
    /// "Set App Account Token".
    ///
    /// - Parameter now: in milliseconds since 1970.
    func setAccountToken(_ token: String, of transactions: [Transaction], id: String, at now: Int64) throws {
        guard AccountToken(token) != nil else { throw AppleError.invalidAccountToken }
        guard let last = transactions.last, id == last.originalID else { throw AppleError.notOriginalTransaction }
        guard let payload = UnverifiedJWS(last.jws)?.payload else { throw AppleError.general }
        switch payload["inAppOwnershipType"]?.string {
        case "FAMILY_SHARED": throw AppleError.familyTransaction
        case "ASSIGNED": throw AppleError.assignedTransaction
        default: break
        }
        let kept = payload.members.filter { key, _ in !["appAccountToken", "signedDate"].contains(key.string) }
        let signedDate = max(now, last.signedDate + 1)
        let signed: JSONContent = ["appAccountToken": token, "signedDate": signedDate]
        add(try authority.sign((.object(kept.map { ($0.string ?? "", JSONContent($1)) }) + signed).bytes))
        state.withLock { $0.accountTokens.append(SetAccountToken(originalID: id, token: token)) }
    }
}
