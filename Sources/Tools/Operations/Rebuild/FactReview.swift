import AppStore
import Entitlements
import Postgres
import Records
import Store

/// Compares facts with the contents that they were read from, and writes the derived facts.
///
/// The caller begins the transaction, holds the locks and may roll back.
///
/// Facts are derived by the function that `verify-worker` uses (`SignedFacts`). The table
/// `revisions` is not enough, because its dates are those of first signatures. So the newest
/// content is the one that a row names, unless another was first signed later. A transaction's
/// trust is only stored in its row.
struct FactReview {
    let connection: PostgresConnection
    let contents: RecordedContents
    /// The purchases whose locks the caller holds.
    let scopes: Set<PurchaseScope>
    /// Whether ownership facts are required too; false until a `link-worker` has run.
    let isOfOwners: Bool
    var findings: [FactFinding] = []

    init(of scopes: Set<PurchaseScope>, isOfOwners: Bool, on connection: PostgresConnection) {
        self.connection = connection
        contents = RecordedContents(connection: connection)
        self.scopes = scopes
        self.isOfOwners = isOfOwners
    }

    /// - Throws: `ScopesMissing` if a fact belongs to a purchase outside of `scopes`; that fact is not written.
    mutating func run() async throws -> [FactFinding] {
        let asked = Array(scopes)
        var pipeline = Pipeline()
        let transactions = pipeline.add(TransactionTable.read, asked)
        let renewals = pipeline.add(RenewalTable.read, asked)
        let spans = pipeline.add(RenewalTable.readSpans, asked)
        let ownership = pipeline.add(OwnershipFactTables.readFacts, asked)
        let ownershipRenewals = pipeline.add(OwnershipFactTables.readRenewals, asked)
        let newest = pipeline.add(RevisionTable.newest, asked.map(\.renewals))
        let answers = try await connection.run(pipeline)
        try await review(Array(answers[transactions]), Array(answers[ownership]))
        let uncertain = try await review(
            Array(answers[renewals]), ownership: Array(answers[ownershipRenewals]),
            newest: answers[newest].map { ($0, asked[$0.index]) })
        try await review(Array(answers[spans]), uncertain)
        return findings
    }
}

/// An error for facts of purchases that are not locked yet.
struct ScopesMissing: Error { let scopes: Set<PurchaseScope> }

/// The review of the rows of any table.
extension FactReview {
    /// Derives the facts of the newest contents of rows, by the index of the row.
    ///
    /// A content that is missing or cannot be read becomes a finding, without a fact in the result.
    mutating func derive<Fact: ReviewedFact>(_ rows: [ReviewedRow<Fact>]) async throws -> [Int: Fact] {
        var facts: [Int: Fact] = [:]
        var faults: [Int: FactFinding.Fault] = [:]
        // Transactions that only `link-worker` has processed so far have no content yet.
        let asked = rows.indices.filter { !rows[$0].isMissing || rows[$0].newest != nil }
        let questions = asked.map { rows[$0].fact.question(rows[$0].revision) }
        try await contents.read(questions) { at, reading in
            let index = asked[at]
            switch reading {
            case .facts(let read):
                facts[index] = read[keyPath: Fact.signed]
                facts[index]?.revision = questions[at].revision
            case .unreadable: faults[index] = .contentUnreadable
            case .missing where rows[index].isMissing: faults[index] = .rowMissingAmbiguous
            case .missing: faults[index] = .contentMissing(column: "content_hash")
            }
        }
        for (index, fault) in faults.sorted(by: { $0.key < $1.key }) {
            let source = rows[index].isMissing ? rows[index].newest?.source : nil
            findings.append(FactFinding(Fact.table, rows[index], fault: fault, source: source))
        }
        return facts
    }

    /// Writes derived facts whose rows differ.
    mutating func write<Fact: ReviewedFact>(_ facts: [Int: Fact], _ rows: [ReviewedRow<Fact>]) async throws {
        let foreign = Set(facts.values.compactMap(\.purchase)).subtracting(scopes)
        guard foreign.isEmpty else { throw ScopesMissing(scopes: foreign) }
        let indexes = facts.keys.sorted()
        try await write(indexes.compactMap { facts[$0] }, to: Fact.table) { rows[indexes[$0]] }
    }

    /// - Parameter row: returns the row of the fact with this index, or `nil` if the row is missing.
    private mutating func write<Fact: ReviewedFact>(
        _ facts: [Fact], to table: ReviewedTable<Fact>, over row: (Int) -> ReviewedRow<Fact>?
    ) async throws {
        guard !facts.isEmpty else { return }
        for replaced in try await connection.run(table.replace, facts) {
            let fact = facts[replaced.index]
            let row = row(replaced.index)
            let isBehind = row.map { $0.fact.revision < fact.revision } ?? false
            let fault = FactFinding.Fault(replaced, isBehind: isBehind)
            findings.append(FactFinding(table, row ?? ReviewedRow(fact: fact), fault: fault))
        }
    }

    /// Writes derived facts whose rows differ, and the matching ownership facts.
    ///
    /// - Parameter known: the rows of the ownership table.
    mutating func write<Fact: OwnedFact>(
        _ derived: [Int: Fact], _ rows: [ReviewedRow<Fact>], beside known: [OwnershipKey: Fact]
    ) async throws {
        var facts = derived
        try await removeForgottenTokens(from: &facts, rows)
        try await write(facts, rows)
        let settled = rows.indices.compactMap { index in
            facts[index] ?? (rows[index].isMissing ? nil : rows[index].fact)
        }
        let expected = settled.compactMap { fact in
            guard let known = known[fact.ownershipKey] else { return isOfOwners ? fact : nil }
            return fact.ownershipFact(known)
        }
        try await write(expected, to: Fact.ownershipTable) { index in
            known[expected[index].ownershipKey].map { ReviewedRow(fact: $0) }
        }
    }

    /// Removes account tokens that are IDs of forgotten users.
    ///
    /// Forgetting a user removes the token from the facts, but not from Apple's signed contents.
    private func removeForgottenTokens<Fact: OwnedFact>(from facts: inout [Int: Fact], _ rows: [ReviewedRow<Fact>])
        async throws
    {
        var tokens: [Int: AccountToken] = [:]
        for (index, fact) in facts {
            let token = fact.members.appAccountToken
            if token != rows[index].fact.members.appAccountToken { tokens[index] = token }
        }
        guard !tokens.isEmpty else { return }
        let asked = Array(Set(tokens.values))
        let forgotten = Set(try await connection.run(ForgottenUserTable.tokens, asked))
        for (index, token) in tokens where forgotten.contains(token) { facts[index]?.members.forgetToken() }
    }

    /// Adds to each row the content with the latest first signature.
    func addNewest<Fact: ReviewedFact>(to rows: inout [ReviewedRow<Fact>]) async throws {
        for content in try await connection.run(RevisionTable.newest, rows.map(\.fact.subject)) {
            rows[content.index].newest = content
        }
    }
}
