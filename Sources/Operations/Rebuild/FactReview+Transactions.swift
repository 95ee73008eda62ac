import AppStore
import Entitlements
import Records
import Store

extension FactReview {
    /// Compares the rows of `transactions`, and of `ownership_facts` beside them.
    mutating func review(
        _ stored: [TransactionFact],
        _ ownership: [TransactionFact]
    ) async throws {
        let known = Dictionary(ownership.map { (OwnershipKey($0), $0) }) { first, _ in first }
        var rows = stored.map { ReviewedRow(fact: $0, isMissing: false) }
        rows += try await missingRows(stored, ownership)
        // As many as payloads are read at once: one for each.
        var start = 0
        while start < rows.count {
            let end = min(start + RecordedContents.payloadsMax, rows.count)
            let facts = try await review(Array(rows[start..<end]))
            try await reviewOwnership(of: facts, known)
            start = end
        }
    }

    /// Transactions that only `ownership_facts` knows.
    private func missingRows(
        _ stored: [TransactionFact],
        _ ownership: [TransactionFact]
    ) async throws -> [ReviewedRow<TransactionFact>] {
        let there = Set(stored.map(\.subject))
        var missing: [RevisionTable.Subject: TransactionFact] = [:]
        for fact in ownership where !there.contains(fact.subject) {
            if let other = missing[fact.subject], other.revision > fact.revision { continue }
            missing[fact.subject] = fact
        }
        guard !missing.isEmpty else { return [] }
        let asked = Array(missing.values)
        let positions = try await connection.run(TransactionTable.positions, asked)
        guard positions.isEmpty else {
            throw ScopesMissing(scopes: Set(positions.map(\.scope)))
        }
        return asked.map { ReviewedRow(fact: $0, isMissing: true) }
    }

    /// Compares some rows, and writes those that are otherwise.
    ///
    /// - Returns: the facts as they are now.
    private mutating func review(
        _ rows: [ReviewedRow<TransactionFact>]
    ) async throws -> [TransactionFact] {
        var newest: [Int: RevisionTable.Content] = [:]
        for content in try await connection.run(RevisionTable.newest, rows.map(\.fact.subject)) {
            newest[content.index] = content
        }
        var facts = try await facts(rows, newest)
        try await addRevocations(to: &facts, rows)
        var tokens: [Int: AccountToken] = [:]
        for (index, fact) in facts where fact.appAccountToken != rows[index].fact.appAccountToken {
            tokens[index] = fact.appAccountToken
        }
        for index in try await forgotten(tokens) { facts[index]?.appAccountToken = nil }
        try await write(facts, rows)
        return rows.indices.compactMap { index in
            facts[index] ?? (rows[index].isMissing ? nil : rows[index].fact)
        }
    }

    /// The facts of each row's newest content, by the index of the row; absent if the content is
    /// unknown.
    private mutating func facts(
        _ rows: [ReviewedRow<TransactionFact>],
        _ newest: [Int: RevisionTable.Content]
    ) async throws -> [Int: TransactionFact] {
        var facts: [Int: TransactionFact] = [:]
        var faults: [Int: FactFinding.Fault] = [:]
        // A transaction that link-worker has seen and entitle-worker has not yet has no content.
        let asked = rows.indices.filter { !rows[$0].isMissing || newest[$0] != nil }
        let questions = asked.map { index in
            let row = rows[index]
            return row.fact.question(row.revision(row.fact.revision, newest[index]))
        }
        try await contents.read(questions) { at, reading in
            let index = asked[at]
            switch reading {
            case .facts(let read):
                facts[index] = read.transaction
                facts[index]?.revision = questions[at].revision
            case .unreadable: faults[index] = .contentUnreadable
            case .missing where rows[index].isMissing: faults[index] = .rowMissingAmbiguous
            case .missing: faults[index] = .contentMissing(column: "content_hash")
            }
        }
        for (index, fault) in faults.sorted(by: { $0.key < $1.key }) {
            let source = rows[index].isMissing ? newest[index]?.source : nil
            findings.append(FactFinding("transactions", rows[index].fact, fault, source))
        }
        return facts
    }

    private mutating func write(
        _ facts: [Int: TransactionFact],
        _ rows: [ReviewedRow<TransactionFact>]
    ) async throws {
        let foreign = Set(facts.values.map(\.purchaseKey.scope)).subtracting(scopes)
        guard foreign.isEmpty else { throw ScopesMissing(scopes: foreign) }
        let indexes = facts.keys.sorted()
        let written = indexes.compactMap { facts[$0] }
        guard !written.isEmpty else { return }
        for replaced in try await connection.run(TransactionTable.replace, written) {
            let row = rows[indexes[replaced.index]]
            let fault = FactFinding.Fault(
                replaced,
                isBehind: row.fact.revision < written[replaced.index].revision
            )
            findings.append(FactFinding("transactions", row.fact, fault))
        }
    }
}

extension FactReview {
    /// Adds to what the newest receipts say what older ones took back.
    private mutating func addRevocations(
        to facts: inout [Int: TransactionFact],
        _ rows: [ReviewedRow<TransactionFact>]
    ) async throws {
        let receipts = facts.keys.filter { rows[$0].fact.track == .receipt }.sorted()
        guard !receipts.isEmpty else { return }
        var questions: [(index: Int, question: RecordedContents.Question)] = []
        let subjects = receipts.map { rows[$0].fact.subject }
        for content in try await connection.run(RevisionTable.lasting, subjects) {
            let index = receipts[content.index]
            questions.append((index, rows[index].fact.question(content.revision)))
        }
        for index in receipts {
            guard let revoking = rows[index].fact.revoking else { continue }
            let at = questions.firstIndex {
                $0.index == index && $0.question.revision.contentHash == revoking.contentHash
            }
            if let at {
                // It may have been signed again since.
                questions[at].question.revision = max(revoking, questions[at].question.revision)
            } else {
                questions.append((index, rows[index].fact.question(revoking)))
            }
        }
        var faults: [(Int, FactFinding.Fault)] = []
        var joined = facts
        try await contents.read(questions.map(\.question)) { at, reading in
            let (index, question) = questions[at]
            let row = rows[index].fact
            switch reading {
            case .facts(let read):
                guard var revoking = read.transaction else { return }
                revoking.revision = question.revision
                joined[index] = joined[index]?.joined(with: revoking)
            case .missing:
                faults.append((index, .contentMissing(column: "revoked_content_hash")))
                joined[index] = joined[index]?.joined(with: row)
            case .unreadable:
                faults.append((index, .contentUnreadable))
                if row.revoking?.contentHash == question.revision.contentHash {
                    joined[index] = joined[index]?.joined(with: row)
                }
            }
        }
        facts = joined
        for (index, fault) in faults {
            findings.append(FactFinding("transactions", rows[index].fact, fault))
        }
    }
}

extension TransactionFact {
    /// Asks for a content of the same transaction and track, of the same trust.
    fileprivate func question(_ revision: Revision) -> RecordedContents.Question {
        RecordedContents.Question(subject: subject, trust: trust, revision: revision)
    }
}

extension FactFinding.Fault {
    init(_ replaced: ReplacedRow, isBehind: Bool) {
        if replaced.isMissing {
            self = .rowMissing
        } else if isBehind {
            self = .behind(columns: replaced.columns)
        } else {
            self = .differs(columns: replaced.columns)
        }
    }
}
