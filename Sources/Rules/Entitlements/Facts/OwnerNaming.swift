package import AppStore

/// A fact of which each revision may name an account token and an `appTransactionId`.
///
/// Absence withdraws nothing: each of the two is that of the newest revision that names one. Apple
/// signs transactions again without them when an Apple Account moves, and has no call that removes
/// a token. IDs that begin again at 0 belong to another purchase each time: there the newest
/// revision stands alone.
package protocol OwnerNaming {
    var environment: Environment { get }
    var revision: Revision { get }
    var appAccountToken: AccountToken? { get set }
    var appTransactionID: Identifier? { get set }
    var olderNaming: OlderNaming { get set }
}

/// The revisions that named a fact's token and `appTransactionId`, unless the newest revision did.
package struct OlderNaming: Hashable, Sendable {
    /// The revision that named the token, also after the token was forgotten.
    package var token: Revision?
    package var appTransaction: Revision?

    package init(token: Revision? = nil, appTransaction: Revision? = nil) {
        self.token = token
        self.appTransaction = appTransaction
    }
}

extension OwnerNaming {
    /// Keeps the names that an older revision of the same ID adds to this one, the newest.
    package mutating func keepNames(of other: Self) {
        guard !environment.reusesIDs else { return }
        keep(\.appAccountToken, \.olderNaming.token, of: other)
        keep(\.appTransactionID, \.olderNaming.appTransaction, of: other)
    }

    /// Removes the token, so that only a newer revision names one again.
    package mutating func forgetToken() {
        olderNaming.token = naming(\.appAccountToken, \.olderNaming.token)
        appAccountToken = nil
    }

    private mutating func keep<Name>(
        _ name: WritableKeyPath<Self, Name?>, _ older: WritableKeyPath<Self, Revision?>, of other: Self
    ) {
        guard let theirs = other.naming(name, older), naming(name, older).map({ $0 < theirs }) ?? true else { return }
        self[keyPath: name] = other[keyPath: name]
        self[keyPath: older] = theirs
    }

    /// The revision that named it; nil if none did.
    private func naming<Name>(_ name: KeyPath<Self, Name?>, _ older: KeyPath<Self, Revision?>) -> Revision? {
        self[keyPath: older] ?? (self[keyPath: name] == nil ? nil : revision)
    }
}
