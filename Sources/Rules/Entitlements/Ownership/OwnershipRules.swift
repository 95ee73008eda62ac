package import AppStore

/// The four rules that determine the owner of a purchase, in order.
package struct OwnershipRules: Hashable, Sendable {
    package var policy: OwnershipPolicy
    /// Whether account tokens are user IDs, in lower case, so that no link is needed (identity mode).
    package var tokensAreUserIDs: Bool
    /// Whether rule 4 applies: the user that the ingestion service names is the owner.
    package var trustsIngestion: Bool
    /// Whether a user named by the ingestion service beside another user's transaction gets the purchase by the
    /// policy; otherwise the first user of the transaction keeps it.
    package var movesRestored: Bool

    package init(
        policy: OwnershipPolicy = .transfer, tokensAreUserIDs: Bool = false, trustsIngestion: Bool = false,
        movesRestored: Bool = false
    ) {
        self.policy = policy
        self.tokensAreUserIDs = tokensAreUserIDs
        self.trustsIngestion = trustsIngestion
        self.movesRestored = movesRestored
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
        var namings: [Naming] = []
        var users: Set<Identifier> = []
        for claim in facts.claims.sorted(by: { $0.precedes($1) }) {
            let isRestore = namings.last?.transactionID == claim.transactionID
            if !isRestore { users = [] }
            // A user's later records of the transaction are repetitions, and a restore without a time has no place.
            guard users.insert(claim.userID).inserted else { continue }
            if isRestore, !movesRestored || claim.position.timestamp == .latest { continue }
            namings.append(
                Naming(
                    userID: claim.userID,
                    date: isRestore ? max(claim.purchaseDate, claim.position.timestamp) : claim.purchaseDate,
                    transactionID: claim.transactionID, position: claim.position, isRestore: isRestore))
        }
        return spans(namings.sorted { $0.precedes($1) }, facts.transactions)
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
                (naming.isRestore || transaction.purchaseDate < naming.date) && transaction.isRunning(at: naming.date)
            }
        }
    }

    /// A transaction, and the user that it names.
    private struct Naming {
        let userID: Identifier
        let date: Timestamp
        let transactionID: Identifier
        /// The position of the claim; equal for all tokens.
        var position = RawPosition(timestamp: .latest, partition: 0, offset: 0)
        /// Whether the transaction came with another user before.
        var isRestore = false

        func precedes(_ other: Naming) -> Bool {
            (date, transactionID, position) < (other.date, other.transactionID, other.position)
        }
    }
}

/// The effect of a later transaction that names another user.
package enum OwnershipPolicy: String, CaseIterable, Sendable {
    /// The newest owner wins, from that transaction's purchase date or its restore on.
    case transfer
    /// The first owner by purchase date stays.
    case keep
    /// The newest owner wins only if no paid period was running at that date.
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
