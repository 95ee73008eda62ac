import AppStore
import Entitlements
import Postgres
import Records
import Store

/// Compares facts with the contents that they were read from, and writes them as these say; in a
/// transaction of the caller's, who holds the locks and may roll it back.
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
        let spans = pipeline.add(RenewalTable.readSpans, asked)
        let ownership = pipeline.add(OwnershipFactTables.readFacts, asked)
        let ownershipRenewals = pipeline.add(OwnershipFactTables.readRenewals, asked)
        let newest = pipeline.add(RevisionTable.newest, asked.map(\.renewals))
        let answers = try await connection.run(pipeline)
        try await review(Array(answers[transactions]), Array(answers[ownership]))
        let uncertain = try await review(
            Array(answers[renewals]), Array(answers[ownershipRenewals]), answers[newest].map { ($0, asked[$0.index]) })
        try await review(Array(answers[spans]), uncertain)
        return findings
    }
}

/// Facts belong to purchases that are not locked yet.
struct ScopesMissing: Error { let scopes: Set<PurchaseScope> }

/// The walk over the rows of any table.
extension FactReview {
    /// The facts of the newest contents of some rows, by the index of the row.
    ///
    /// A content that is missing or cannot be read is a finding, and has no fact here.
    mutating func derive<Fact: ReviewedFact>(_ rows: [ReviewedRow<Fact>]) async throws -> [Int: Fact] {
        var facts: [Int: Fact] = [:]
        var faults: [Int: FactFinding.Fault] = [:]
        // A transaction that link-worker has seen and entitle-worker has not yet has no content.
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
            findings.append(FactFinding(Fact.table, rows[index], fault, source: source))
        }
        return facts
    }

    /// Writes derived facts where rows differ from them.
    mutating func write<Fact: ReviewedFact>(_ facts: [Int: Fact], _ rows: [ReviewedRow<Fact>]) async throws {
        let foreign = Set(facts.values.compactMap(\.purchase)).subtracting(scopes)
        guard foreign.isEmpty else { throw ScopesMissing(scopes: foreign) }
        let indexes = facts.keys.sorted()
        try await write(indexes.compactMap { facts[$0] }, to: Fact.table) { rows[indexes[$0]] }
    }

    /// - Parameter row: the row of the fact with this index; nil if it is missing.
    private mutating func write<Fact: ReviewedFact>(
        _ facts: [Fact], to table: ReviewedTable<Fact>, over row: (Int) -> ReviewedRow<Fact>?
    ) async throws {
        guard !facts.isEmpty else { return }
        for replaced in try await connection.run(table.replace, facts) {
            let fact = facts[replaced.index]
            let row = row(replaced.index)
            let isBehind = row.map { $0.fact.revision < fact.revision } ?? false
            let fault = FactFinding.Fault(replaced, isBehind: isBehind)
            findings.append(FactFinding(table, row ?? ReviewedRow(fact: fact), fault))
        }
    }

    /// Writes derived facts where rows differ from them, and the ownership facts beside them.
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

    /// Leaves out account tokens that are the ID of a forgotten user.
    ///
    /// Forgetting takes a token out of the facts and leaves what Apple signed as it is.
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

    /// Adds to each row the content that was first signed last.
    func addNewest<Fact: ReviewedFact>(to rows: inout [ReviewedRow<Fact>]) async throws {
        for content in try await connection.run(RevisionTable.newest, rows.map(\.fact.subject)) {
            rows[content.index].newest = content
        }
    }
}
