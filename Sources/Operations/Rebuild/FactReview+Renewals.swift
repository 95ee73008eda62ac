import AppStore
import Entitlements
import Records
import Store

extension FactReview {
    /// Compares the rows of `renewals`, and of `ownership_renewals` beside them.
    ///
    /// - Parameter newest: of each subscription and trust, the content that was first signed last.
    /// - Returns: the keys of which some content is missing or cannot be read.
    mutating func review(
        _ stored: [RenewalFact],
        _ ownership: [RenewalFact],
        _ newest: [(RevisionTable.Content, PurchaseScope)]
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
                findings.append(FactFinding(RenewalFact.table, row, fault, content.source))
            } else {
                rows.append(row)
            }
        }
        let facts = try await derive(rows)
        try await write(facts, rows, beside: known)
        return Set(rows.indices.filter { facts[$0] == nil }.map { rows[$0].fact.key })
    }
}

extension FactReview {
    /// Compares `grace_periods` with all graces that contents grant.
    ///
    /// - Parameter uncertain: keys whose contents are not all there; their graces stay.
    mutating func review(
        _ stored: [RenewalTable.Grace],
        _ uncertain: Set<RenewalKey>
    ) async throws {
        let asked = Array(scopes)
        var keys: [RenewalKey] = []
        var questions: [RecordedContents.Question] = []
        for content in try await connection.run(RevisionTable.lasting, asked.map(\.renewals)) {
            guard let trust = Trust(text: content.trust) else { continue }
            let fact = RenewalFact(
                key: asked[content.index].renewalKey(trust),
                revision: content.revision
            )
            keys.append(fact.key)
            questions.append(fact.question(fact.revision))
        }
        var granted: Set<RenewalTable.Grace> = []
        var uncertain = uncertain
        var unreadable: [RenewalKey] = []
        try await contents.read(questions) { index, reading in
            if case .facts(let read) = reading, let fact = read.renewal {
                if let grace = fact.grace {
                    granted.insert(RenewalTable.Grace(key: fact.key, grace: grace))
                }
            } else {
                unreadable.append(keys[index])
            }
        }
        for key in unreadable where uncertain.insert(key).inserted {
            findings.append(FactFinding("grace_periods", key, .contentUnreadable))
        }
        let there = Set(stored)
        try await write(missing: granted.subtracting(there))
        try await remove(there.subtracting(granted), uncertain)
    }

    private mutating func write(missing: Set<RenewalTable.Grace>) async throws {
        guard !missing.isEmpty else { return }
        _ = try await connection.run(RenewalTable.addGraces, Array(missing))
        findings += missing.sorted().map {
            FactFinding("grace_periods", $0.key, .graceMissing($0.grace))
        }
    }

    private mutating func remove(
        _ ungranted: Set<RenewalTable.Grace>,
        _ uncertain: Set<RenewalKey>
    ) async throws {
        let gone = ungranted.filter { !uncertain.contains($0.key) }
        if !gone.isEmpty {
            _ = try await connection.run(RenewalTable.removeGraces, Array(gone))
        }
        findings += ungranted.sorted().map { row in
            let isUncertain = uncertain.contains(row.key)
            return FactFinding(
                "grace_periods",
                row.key,
                isUncertain ? .graceUncertain(row.grace) : .graceUngranted(row.grace)
            )
        }
    }
}
