import AppStore
import Entitlements
import Records
import Store

extension FactReview {
    /// Compares the rows of `transactions` and the matching rows of `ownership_facts`.
    mutating func review(_ stored: [TransactionFact], _ ownership: [TransactionFact]) async throws {
        let known = Dictionary(ownership.map { ($0.ownershipKey, $0) }) { first, _ in first }
        let all = stored.map { ReviewedRow(fact: $0) } + (try await missingRows(stored, ownership))
        // Review as many rows at a time as payloads are read, because each row has one.
        var start = 0
        while start < all.count {
            let end = min(start + RecordedContents.payloadsMax, all.count)
            var rows = Array(all[start..<end])
            try await addNewest(to: &rows)
            var facts = try await derive(rows)
            try await addOlder(to: &facts, rows)
            try await write(facts, rows, beside: known)
            start = end
        }
    }

    /// The transactions that only `ownership_facts` contains.
    private func missingRows(_ stored: [TransactionFact], _ ownership: [TransactionFact]) async throws -> [ReviewedRow<
        TransactionFact
    >] {
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
}
