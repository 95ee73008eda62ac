package import AppStore

/// A fact whose revisions may each contain an account token and an `appTransactionId`.
///
/// An absent name removes nothing: each of the two values is from the newest revision that contains it. Apple signs
/// transactions again without them when an Apple Account moves, and has no call that removes a token. If IDs restart
/// at 0, they belong to different purchases over time: then only the newest revision counts.
package protocol OwnerNaming {
    var environment: Environment { get }
    var revision: Revision { get }
    var appAccountToken: AccountToken? { get set }
    var appTransactionID: Identifier? { get set }
    var olderNaming: OlderNaming { get set }
}

/// The revisions that contained a fact's token and `appTransactionId`, unless the newest revision contained them.
package struct OlderNaming: Hashable, Sendable {
    /// The revision that contained the token, also after the token was removed.
    package var token: Revision?
    package var appTransaction: Revision?

    package init(token: Revision? = nil, appTransaction: Revision? = nil) {
        self.token = token
        self.appTransaction = appTransaction
    }
}

extension OwnerNaming {
    /// Adds the names of an older revision of the same ID that this revision, the newest, lacks.
    package mutating func keepNames(of other: Self) {
        guard !environment.reusesIDs else { return }
        keep(\.appAccountToken, \.olderNaming.token, of: other)
        keep(\.appTransactionID, \.olderNaming.appTransaction, of: other)
    }

    /// Removes the token; only a newer revision can then set one.
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

    /// The revision that contained the name.
    ///
    /// `nil` if no revision did.
    private func naming<Name>(_ name: KeyPath<Self, Name?>, _ older: KeyPath<Self, Revision?>) -> Revision? {
        self[keyPath: older] ?? (self[keyPath: name] == nil ? nil : revision)
    }
}
