import AppStore
import Entitlements
import Records
import Store

extension FactReview {
    /// Compares the rows of `renewals` and the matching rows of `ownership_renewals`.
    ///
    /// - Parameter newest: the content with the latest first signature of each subscription and trust.
    /// - Returns: the keys with a content that is missing or cannot be read.
    mutating func review(
        _ stored: [RenewalFact], ownership: [RenewalFact], newest: [(RevisionTable.Content, PurchaseScope)]
    ) async throws -> Set<RenewalKey> {
        let known = Dictionary(ownership.map { ($0.ownershipKey, $0) }) { first, _ in first }
        var contents: [RenewalKey: RevisionTable.Content] = [:]
        for (content, scope) in newest {
            guard let trust = Trust(text: content.trust) else { continue }
            contents[scope.renewalKey(trust)] = content
        }
        var rows = stored.map { ReviewedRow(fact: $0, newest: contents[$0.key]) }
        let there = Set(stored.map(\.key))
        for (key, content) in contents where !there.contains(key) {
            let bare = RenewalFact(key: key, revision: content.revision)
            let owned = known[bare.ownershipKey]
            let row = ReviewedRow(fact: owned ?? bare, isMissing: true, newest: content)
            if owned == nil, content.count > 1 {
                let fault = FactFinding.Fault.rowMissingAmbiguous
                findings.append(FactFinding(RenewalFact.table, row, fault: fault, source: content.source))
            } else {
                rows.append(row)
            }
        }
        var facts = try await derive(rows)
        try await addOlder(to: &facts, rows)
        try await write(facts, rows, beside: known)
        return Set(rows.indices.filter { facts[$0] == nil }.map { rows[$0].fact.key })
    }
}

extension FactReview {
    /// Compares `renewal_spans` with all spans that contents state.
    ///
    /// - Parameter uncertain: keys with missing or unreadable contents; their spans are kept.
    mutating func review(_ stored: [RenewalTable.Span], _ uncertain: Set<RenewalKey>) async throws {
        let asked = Array(scopes)
        var keys: [RenewalKey] = []
        var questions: [RecordedContents.Question] = []
        for content in try await connection.run(RevisionTable.stating, asked.map(\.renewals)) {
            guard let trust = Trust(text: content.trust) else { continue }
            let fact = RenewalFact(key: asked[content.index].renewalKey(trust), revision: content.revision)
            keys.append(fact.key)
            questions.append(fact.question(fact.revision))
        }
        var stated: Set<RenewalTable.Span> = []
        var uncertain = uncertain
        var unreadable: [RenewalKey] = []
        try await contents.read(questions) { index, reading in
            if case .facts(let read) = reading, let fact = read.renewal {
                stated.formUnion(fact.spans.map { RenewalTable.Span(key: fact.key, span: $0) })
            } else {
                unreadable.append(keys[index])
            }
        }
        for key in unreadable where uncertain.insert(key).inserted {
            findings.append(FactFinding(Self.spans, key, fault: .contentUnreadable))
        }
        let there = Set(stored)
        try await write(missing: stated.subtracting(there))
        try await remove(there.subtracting(stated), uncertain)
    }

    private static let spans = "renewal_spans"

    private mutating func write(missing: Set<RenewalTable.Span>) async throws {
        guard !missing.isEmpty else { return }
        _ = try await connection.run(RenewalTable.addSpans, Array(missing))
        findings += missing.sorted().map { FactFinding(Self.spans, $0.key, fault: .spanMissing($0.span)) }
    }

    private mutating func remove(_ unstated: Set<RenewalTable.Span>, _ uncertain: Set<RenewalKey>) async throws {
        let gone = unstated.filter { !uncertain.contains($0.key) }
        if !gone.isEmpty { _ = try await connection.run(RenewalTable.removeSpans, Array(gone)) }
        findings += unstated.sorted().map { row in
            let isUncertain = uncertain.contains(row.key)
            return FactFinding(
                Self.spans, row.key, fault: isUncertain ? .spanUncertain(row.span) : .spanUngranted(row.span))
        }
    }
}
