import AppStore
import Entitlements
import Records
import Store

/// What one observation is about, as far as the question is whose it is.
enum LinkSubject {
    case purchase(PurchaseKey)
    /// A renewal info alone, which joins the purchases that the same trust vouched for.
    case renewal(RenewalKey)
    /// An app transaction: the Apple Account behind an app, without a purchase.
    case account(AppTransactionGroup)
    case nothing
}

/// What the observations of one batch say about whose purchases are, newest revision of each.
struct LinkBatch {
    struct FactKey: Hashable {
        let transaction: TransactionKey
        let track: Track
    }

    private(set) var transactions: [FactKey: TransactionFact] = [:]
    private(set) var renewals: [RenewalKey: RenewalFact] = [:]
    private(set) var claims: [TransactionKey: OwnershipFactTables.Claim] = [:]
    /// What is locked and read.
    private(set) var scopes: Set<PurchaseScope> = []
    private(set) var groups: Set<AppTransactionGroup> = []
    /// How often its records name different users beside one transaction.
    private(set) var contradictionCount = 0
    private let takesIngestUsers: Bool

    /// - Parameter takesIngestUsers: whether users are taken up whom the ingestion service names.
    init(takesIngestUsers: Bool) {
        self.takesIngestUsers = takesIngestUsers
    }

    /// A batch that says nothing new of these purchases, and has them judged all the same.
    init(judging scopes: some Sequence<PurchaseScope>, and groups: Set<AppTransactionGroup>) {
        self.scopes = Set(scopes)
        self.groups = groups
        takesIngestUsers = false
    }

    /// Whether nothing in it is about a purchase or an account.
    var isEmpty: Bool { scopes.isEmpty && groups.isEmpty }

    /// Takes up what one observation says.
    mutating func add(_ observation: Observation) -> LinkSubject {
        let renewal = addRenewal(of: observation)
        if let fact = addTransaction(of: observation) {
            addGroup(fact.appTransactionID ?? renewal?.appTransactionID, of: observation)
            return .purchase(fact.purchaseKey)
        }
        if let renewal {
            return .renewal(renewal.key)
        }
        if let payload = observation.appTransaction {
            let id = AppTransactionPayload(payload).appTransactionID?.string
            return addGroup(id, of: observation).map { .account($0) } ?? .nothing
        }
        return .nothing
    }

    private mutating func addTransaction(of observation: Observation) -> TransactionFact? {
        guard let value = observation.transaction, let bundleID = observation.bundleID,
            let verification = observation.verification
        else { return nil }
        let payload = TransactionPayload(value)
        let fact = payload.signedDate.flatMap { signedDate in
            TransactionFact(
                payload,
                revision: Revision(signedDate: signedDate, contentHash: ContentHash.of(value)),
                environment: observation.environment,
                bundleID: bundleID,
                track: Track(verification.method),
                trust: verification.trust
            )
        }
        guard let fact else { return nil }
        let key = FactKey(transaction: fact.key, track: fact.track)
        transactions[key] = transactions[key]?.joined(with: fact) ?? fact
        scopes.insert(fact.purchaseKey.scope)
        addClaim(of: observation, fact)
        return fact
    }

    private mutating func addClaim(of observation: Observation, _ fact: TransactionFact) {
        guard takesIngestUsers, let userID = observation.ingestUserID,
            let source = observation.source
        else { return }
        let claim = UserClaim(
            transactionID: fact.key.transactionID,
            purchaseDate: fact.identity.purchaseDate,
            position: RawPosition(source),
            userID: userID
        )
        if let other = claims[fact.key]?.claim {
            if other.userID != userID { contradictionCount += 1 }
            guard claim.position < other.position else { return }
        }
        claims[fact.key] = OwnershipFactTables.Claim(
            purchase: fact.purchaseKey,
            claim: claim
        )
    }

    private mutating func addRenewal(of observation: Observation) -> RenewalFact? {
        guard let value = observation.renewalInfo, let verification = observation.verification
        else { return nil }
        let payload = RenewalPayload(value)
        let fact = payload.signedDate.flatMap { signedDate in
            RenewalFact(
                payload,
                revision: Revision(signedDate: signedDate, contentHash: ContentHash.of(value)),
                environment: observation.environment,
                trust: verification.trust
            )
        }
        guard let fact else { return nil }
        if renewals[fact.key].map({ $0.revision < fact.revision }) ?? true {
            renewals[fact.key] = fact
        }
        scopes.insert(fact.key.scope)
        return fact
    }

    @discardableResult
    private mutating func addGroup(
        _ appTransactionID: String?,
        of observation: Observation
    ) -> AppTransactionGroup? {
        guard let appTransactionID, let bundleID = observation.bundleID else { return nil }
        let group = AppTransactionGroup(
            environment: observation.environment,
            bundleID: bundleID,
            appTransactionID: appTransactionID
        )
        groups.insert(group)
        return group
    }
}
