import AppStore
import Entitlements
import Postgres
import Records
import Store

/// Compares the facts of some purchases with the contents that they were read from, and writes
/// them as these say; in a transaction of the caller's, who holds the locks and may roll it back.
///
/// It decides by the function of `verify-worker` (`SignedFacts`). `revisions` is not enough: its
/// dates are those of first signatures, so the newest content is the one that a row names, unless
/// another was first signed later; and a transaction's trust stands only in its row.
struct FactReview {
    let connection: PostgresConnection
    let contents: RecordedContents
    /// The purchases whose locks are held.
    let scopes: Set<PurchaseScope>
    /// Whether ownership facts have to be there too: not before a link-worker has run.
    let isOfOwners: Bool
    var findings: [FactFinding] = []

    init(of scopes: Set<PurchaseScope>, isOfOwners: Bool, on connection: PostgresConnection) {
        self.connection = connection
        contents = RecordedContents(connection: connection)
        self.scopes = scopes
        self.isOfOwners = isOfOwners
    }

    /// - Throws: `ScopesMissing`, before anything is written about it, where a fact belongs to a
    ///   purchase that is not among the given ones.
    mutating func run() async throws -> [FactFinding] {
        let asked = Array(scopes)
        var pipeline = Pipeline()
        let transactions = pipeline.add(TransactionTable.read, asked)
        let renewals = pipeline.add(RenewalTable.read, asked)
        let graces = pipeline.add(RenewalTable.readGraces, asked)
        let ownership = pipeline.add(OwnershipFactTables.readFacts, asked)
        let ownershipRenewals = pipeline.add(OwnershipFactTables.readRenewals, asked)
        let newest = pipeline.add(RevisionTable.newest, asked.map(\.renewals))
        let answers = try await connection.run(pipeline)
        try await review(Array(answers[transactions]), Array(answers[ownership]))
        let uncertain = try await review(
            Array(answers[renewals]),
            Array(answers[ownershipRenewals]),
            answers[newest].map { ($0, asked[$0.index]) }
        )
        try await review(Array(answers[graces]), uncertain)
        return findings
    }

    /// Finds account tokens that are the ID of a forgotten user, so that they stay removed.
    ///
    /// Forgetting takes a token out of the facts and leaves what Apple signed as it is.
    ///
    /// - Parameter facts: by an index of the caller's, the token that was signed, where the row
    ///   has another or none.
    /// - Returns: the indexes of those to leave out.
    func forgotten(_ tokens: [Int: AccountToken]) async throws -> [Int] {
        guard !tokens.isEmpty else { return [] }
        let asked = Array(Set(tokens.values))
        let forgotten = Set(try await connection.run(ForgottenUserTable.tokens, asked))
        return tokens.filter { forgotten.contains($0.value) }.map(\.key)
    }
}

/// Facts belong to purchases that are not locked yet.
struct ScopesMissing: Error {
    let scopes: Set<PurchaseScope>
}

/// A fact as its row has it; or if that is gone, as much of it as is known elsewhere.
struct ReviewedRow<Fact> {
    var fact: Fact
    let isMissing: Bool

    /// The revision that counts, by what is known of it and the content that was first signed last.
    func revision(_ known: Revision, _ newest: RevisionTable.Content?) -> Revision {
        guard let newest else { return known }
        // The only content there is; what else is known of is on its way.
        if isMissing, newest.count == 1, newest.revision.contentHash != known.contentHash {
            return newest.revision
        }
        return max(newest.revision, known)
    }
}
