package import AppStore

/// The four rules that determine the owner of a purchase, in order.
package struct OwnershipRules: Hashable, Sendable {
    package var policy: OwnershipPolicy
    /// Whether account tokens are user IDs, in lower case, so that no link is needed (identity mode).
    package var tokensAreUserIDs: Bool
    /// Whether rule 4 applies: the user that the ingestion service names is the owner.
    package var trustsIngestion: Bool

    package init(policy: OwnershipPolicy = .transfer, tokensAreUserIDs: Bool = false, trustsIngestion: Bool = false) {
        self.policy = policy
        self.tokensAreUserIDs = tokensAreUserIDs
        self.trustsIngestion = trustsIngestion
    }

    /// Applies rules 1 and 2, which determine the owner from the purchase's own facts.
    ///
    /// `nil` if the facts name no user.
    package func directOwnership(of facts: OwnershipFacts, links: AccountLinks) -> Ownership? {
        if let user = links.userByOriginalTransactionID[facts.originalTransactionID] {
            return Ownership(userID: user, rule: .originalTransactionLink)
        }
        let hasToken = facts.transactions.contains { $0.token != nil }
        guard hasToken else {
            let user = facts.renewalToken.flatMap { self.user(behind: $0, links) }
            return user.map { Ownership(userID: $0, rule: .renewalToken) }
        }
        var namings = facts.transactions.compactMap { transaction in
            transaction.token.flatMap { user(behind: $0, links) }.map { user in
                Naming(userID: user, date: transaction.purchaseDate, transactionID: transaction.transactionID)
            }
        }
        namings.sort { $0.precedes($1) }
        let spans = spans(namings, facts.transactions)
        return spans.isEmpty ? nil : Ownership(spans: spans, rule: .accountToken)
    }

    /// Applies all four rules.
    ///
    /// - Parameter siblings: the owner of the purchases with the same `appTransactionId`.
    package func ownership(of facts: OwnershipFacts, links: AccountLinks, siblings: SiblingOwner) -> Ownership {
        directOwnership(of: facts, links: links) ?? indirectOwnership(of: facts, links: links, siblings: siblings)
    }

    /// Applies rules 3 and 4 to a purchase without an owner by rules 1 and 2.
    ///
    /// If neither rule names a user, the result's rule states the reason.
    ///
    /// - Parameter siblings: the owner of the purchases with the same `appTransactionId`.
    package func indirectOwnership(of facts: OwnershipFacts, links: AccountLinks, siblings: SiblingOwner) -> Ownership {
        let linked = facts.appTransactionID.flatMap { links.userByAppTransactionID[$0] }
        if let linked { return Ownership(userID: linked, rule: .appTransactionLink) }
        if case .one(let user) = siblings { return Ownership(userID: user, rule: .siblingPurchase) }
        let claimed = claimedSpans(of: facts)
        if !claimed.isEmpty { return Ownership(spans: claimed, rule: .ingestionClaim) }
        if siblings == .several { return Ownership(spans: [], rule: .ambiguousSiblings) }
        return Ownership(spans: [], rule: facts.claims.isEmpty ? .unlinked : .untrustedClaim)
    }

    private func claimedSpans(of facts: OwnershipFacts) -> [OwnershipSpan] {
        guard trustsIngestion else { return [] }
        var naming: [Naming] = []
        for claim in facts.claims.sorted(by: { $0.precedes($1) })
        where naming.last?.transactionID != claim.transactionID {
            naming.append(Naming(userID: claim.userID, date: claim.purchaseDate, transactionID: claim.transactionID))
        }
        return spans(naming, facts.transactions)
    }

    private func user(behind token: AccountToken, _ links: AccountLinks) -> Identifier? {
        tokensAreUserIDs ? Identifier(token.canonical) : links.userByToken[token]
    }

    /// The purchase's sequence of owners.
    private func spans(_ namings: [Naming], _ transactions: [OwnershipTransaction]) -> [OwnershipSpan] {
        var spans: [OwnershipSpan] = []
        for naming in namings {
            guard let current = spans.last else {
                spans.append(OwnershipSpan(userID: naming.userID))
                continue
            }
            guard current.userID != naming.userID, moves(naming, transactions) else { continue }
            if current.from == naming.date { spans.removeLast() }
            if spans.last?.userID != naming.userID {
                spans.append(OwnershipSpan(userID: naming.userID, from: naming.date))
            }
        }
        return spans
    }

    private func moves(_ naming: Naming, _ transactions: [OwnershipTransaction]) -> Bool {
        switch policy {
        case .transfer: true
        case .keep: false
        case .transferIfInactive:
            !transactions.contains { transaction in
                transaction.purchaseDate < naming.date && transaction.isRunning(at: naming.date)
            }
        }
    }

    /// A transaction, and the user that it names.
    private struct Naming {
        let userID: Identifier
        let date: Timestamp
        let transactionID: Identifier

        func precedes(_ other: Naming) -> Bool { (date, transactionID) < (other.date, other.transactionID) }
    }
}

/// The effect of a later transaction that names another user.
package enum OwnershipPolicy: String, CaseIterable, Sendable {
    /// The newest owner wins, from that transaction's purchase date on.
    case transfer
    /// The first owner by purchase date stays.
    case keep
    /// The newest owner wins only if no paid period was running at that purchase date.
    case transferIfInactive = "transfer_if_inactive"
}

/// The owner, by rules 1 and 2, of the purchases with the same `appTransactionId`.
package enum SiblingOwner: Hashable, Sendable {
    case none
    case one(Identifier)
    case several

    /// - Parameter owners: the present owner of each purchase of the group by rules 1 and 2; `nil` for a purchase for
    ///   which these rules name no user.
    package init(owners: some Sequence<Identifier?>) {
        self = .none
        for case let owner? in owners {
            switch self {
            case .none: self = .one(owner)
            case .one(owner): break
            case .one, .several: self = .several
            }
        }
    }
}

/// The operators' links that concern the purchases of one call.
package struct AccountLinks: Hashable, Sendable {
    package var userByToken: [AccountToken: Identifier]
    package var userByAppTransactionID: [Identifier: Identifier]
    package var userByOriginalTransactionID: [Identifier: Identifier]

    package init(
        userByToken: [AccountToken: Identifier] = [:], userByAppTransactionID: [Identifier: Identifier] = [:],
        userByOriginalTransactionID: [Identifier: Identifier] = [:]
    ) {
        self.userByToken = userByToken
        self.userByAppTransactionID = userByAppTransactionID
        self.userByOriginalTransactionID = userByOriginalTransactionID
    }
}
