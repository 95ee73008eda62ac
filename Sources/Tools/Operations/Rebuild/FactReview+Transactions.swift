import AppStore
import Entitlements
import Records
import Store

extension FactReview {
    /// Compares the rows of `transactions`, and of `ownership_facts` beside them.
    mutating func review(_ stored: [TransactionFact], _ ownership: [TransactionFact]) async throws {
        let known = Dictionary(ownership.map { ($0.ownershipKey, $0) }) { first, _ in first }
        let all = stored.map { ReviewedRow(fact: $0) } + (try await missingRows(stored, ownership))
        // As many as payloads are read at once: one for each.
        var start = 0
        while start < all.count {
            let end = min(start + RecordedContents.payloadsMax, all.count)
            var rows = Array(all[start..<end])
            try await addNewest(to: &rows)
            var facts = try await derive(rows)
            try await addRevocations(to: &facts, rows)
            try await write(facts, rows, beside: known)
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
        let scopes = Set(try await connection.run(TransactionTable.scopes, asked))
        guard scopes.isEmpty else { throw ScopesMissing(scopes: scopes) }
        return asked.map { ReviewedRow(fact: $0, isMissing: true) }
    }

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
            findings.append(FactFinding(TransactionFact.table, rows[index], fault))
        }
    }
}
