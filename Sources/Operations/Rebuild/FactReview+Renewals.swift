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
        let known = Dictionary(ownership.map { ($0.key, $0) }) { first, _ in first }
        var contents: [RenewalKey: RevisionTable.Content] = [:]
        for (content, scope) in newest {
            guard let trust = Trust(text: content.trust) else { continue }
            contents[scope.renewalKey(trust)] = content
        }
        var rows = stored.map { ReviewedRow(fact: $0, isMissing: false) }
        let there = Set(stored.map(\.key))
        for (key, content) in contents where !there.contains(key) {
            let fact = known[key] ?? RenewalFact(key: key, revision: content.revision)
            if known[key] == nil, content.count > 1 {
                findings.append(
                    FactFinding("renewals", key, .rowMissingAmbiguous, content.source)
                )
                continue
            }
            rows.append(ReviewedRow(fact: fact, isMissing: true))
        }
        var uncertain: Set<RenewalKey> = []
        var facts = try await facts(rows, contents, &uncertain)
        var tokens: [Int: AccountToken] = [:]
        for (index, fact) in facts where fact.appAccountToken != rows[index].fact.appAccountToken {
            tokens[index] = fact.appAccountToken
        }
        for index in try await forgotten(tokens) { facts[index]?.appAccountToken = nil }
        try await write(facts, rows)
        let settled = rows.indices.compactMap { index in
            facts[index] ?? (rows[index].isMissing ? nil : rows[index].fact)
        }
        try await reviewOwnership(of: settled, known)
        return uncertain
    }

    private mutating func facts(
        _ rows: [ReviewedRow<RenewalFact>],
        _ newest: [RenewalKey: RevisionTable.Content],
        _ uncertain: inout Set<RenewalKey>
    ) async throws -> [Int: RenewalFact] {
        let questions = rows.map { row in
            let newest = newest[row.fact.key]
            return row.fact.key.question(row.revision(row.fact.revision, newest))
        }
        var facts: [Int: RenewalFact] = [:]
        var faults: [(Int, FactFinding.Fault)] = []
        try await contents.read(questions) { index, reading in
            switch reading {
            case .facts(let read):
                facts[index] = read.renewal
                facts[index]?.revision = questions[index].revision
            case .unreadable: faults.append((index, .contentUnreadable))
            case .missing where rows[index].isMissing:
                faults.append((index, .rowMissingAmbiguous))
            case .missing: faults.append((index, .contentMissing(column: "content_hash")))
            }
        }
        for (index, fault) in faults {
            let key = rows[index].fact.key
            uncertain.insert(key)
            let source = rows[index].isMissing ? newest[key]?.source : nil
            findings.append(FactFinding("renewals", key, fault, source))
        }
        return facts
    }

    private mutating func write(
        _ facts: [Int: RenewalFact],
        _ rows: [ReviewedRow<RenewalFact>]
    ) async throws {
        let indexes = facts.keys.sorted()
        let written = indexes.compactMap { facts[$0] }
        guard !written.isEmpty else { return }
        for replaced in try await connection.run(RenewalTable.replace, written) {
            let fact = rows[indexes[replaced.index]].fact
            let fault = FactFinding.Fault(
                replaced,
                isBehind: fact.revision < written[replaced.index].revision
            )
            findings.append(FactFinding("renewals", fact.key, fault))
        }
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
        var questions: [RecordedContents.Question] = []
        for content in try await connection.run(RevisionTable.lasting, asked.map(\.renewals)) {
            guard let trust = Trust(text: content.trust) else { continue }
            let key = asked[content.index].renewalKey(trust)
            questions.append(key.question(content.revision))
        }
        var granted: Set<GrantedGrace> = []
        var uncertain = uncertain
        var unreadable: [RenewalKey] = []
        try await contents.read(questions) { index, reading in
            if case .facts(let read) = reading, let fact = read.renewal {
                if let grace = fact.grace { granted.insert(GrantedGrace(fact.key, grace)) }
            } else {
                unreadable.append(questions[index].renewalKey)
            }
        }
        for key in unreadable where uncertain.insert(key).inserted {
            findings.append(FactFinding("grace_periods", key, .contentUnreadable))
        }
        let there = Set(stored.map { GrantedGrace($0.key, $0.grace) })
        try await write(missing: granted.subtracting(there))
        try await remove(there.subtracting(granted), uncertain)
    }

    private mutating func write(missing: Set<GrantedGrace>) async throws {
        guard !missing.isEmpty else { return }
        _ = try await connection.run(RenewalTable.addGraces, missing.map(\.row))
        findings += missing.sorted().map {
            FactFinding("grace_periods", $0.key, .graceMissing($0.grace))
        }
    }

    private mutating func remove(
        _ ungranted: Set<GrantedGrace>,
        _ uncertain: Set<RenewalKey>
    ) async throws {
        let gone = ungranted.filter { !uncertain.contains($0.key) }
        if !gone.isEmpty {
            _ = try await connection.run(RenewalTable.removeGraces, gone.map(\.row))
        }
        findings += ungranted.sorted().map { grace in
            let isUncertain = uncertain.contains(grace.key)
            return FactFinding(
                "grace_periods",
                grace.key,
                isUncertain ? .graceUncertain(grace.grace) : .graceUngranted(grace.grace)
            )
        }
    }
}

/// A row of `grace_periods`.
private struct GrantedGrace: Hashable, Comparable {
    let key: RenewalKey
    let grace: GracePeriod

    init(_ key: RenewalKey, _ grace: GracePeriod) {
        self.key = key
        self.grace = grace
    }

    var row: RenewalTable.Grace { RenewalTable.Grace(key: key, grace: grace) }

    static func < (left: GrantedGrace, right: GrantedGrace) -> Bool {
        (left.key, left.grace) < (right.key, right.grace)
    }
}

extension RenewalKey {
    /// Asks for a content of the same subscription and trust.
    fileprivate func question(_ revision: Revision) -> RecordedContents.Question {
        RecordedContents.Question(subject: scope.renewals, trust: trust, revision: revision)
    }
}

extension PurchaseScope {
    fileprivate func renewalKey(_ trust: Trust) -> RenewalKey {
        RenewalKey(
            environment: environment,
            originalTransactionID: originalTransactionID,
            trust: trust
        )
    }
}

extension RecordedContents.Question {
    /// Key of the renewal info.
    fileprivate var renewalKey: RenewalKey {
        RenewalKey(
            environment: subject.environment,
            originalTransactionID: subject.id,
            trust: trust
        )
    }
}
