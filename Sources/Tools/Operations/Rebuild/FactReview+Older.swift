import AppStore
import Entitlements
import Records
import Store

extension FactReview {
    private typealias Question = (index: Int, column: String, asked: RecordedContents.Question)

    /// Adds to the newest facts the names from older contents and the revocations from older receipts.
    mutating func addOlder<Fact: OwnedFact>(to facts: inout [Int: Fact], _ rows: [ReviewedRow<Fact>]) async throws {
        let lacking = facts.filter { $0.value.members.lacksName }.keys.sorted()
        guard !lacking.isEmpty else { return }
        let questions = try await olderContents(of: lacking, rows)
        var faults: [(Int, FactFinding.Fault)] = []
        var joined = facts
        try await contents.read(questions.map(\.asked)) { at, reading in
            let (index, column, question) = questions[at]
            let row = rows[index].fact
            switch reading {
            case .facts(let read):
                guard var older = read[keyPath: Fact.signed] else { return }
                older.revision = question.revision
                joined[index] = joined[index]?.joined(with: older)
            case .missing:
                faults.append((index, .contentMissing(column: column)))
                joined[index] = joined[index]?.joined(with: row)
            case .unreadable:
                faults.append((index, .contentUnreadable))
                if row.olderRevisions.contains(where: { $1.isContent(of: question.revision) }) {
                    joined[index] = joined[index]?.joined(with: row)
                }
            }
        }
        facts = joined
        for (index, fault) in faults { findings.append(FactFinding(Fact.table, rows[index], fault: fault)) }
    }

    /// The older contents that may add something to the rows, and the contents that the rows name.
    private func olderContents<Fact: OwnedFact>(of indexes: [Int], _ rows: [ReviewedRow<Fact>]) async throws
        -> [Question]
    {
        var questions: [Question] = []
        let subjects = indexes.map { rows[$0].fact.subject }
        for content in try await connection.run(RevisionTable.older, subjects) {
            let index = indexes[content.index]
            let asked = rows[index].fact.question(content.revision)
            guard content.trust.isEmpty || content.trust == asked.trust.text else { continue }
            questions.append((index, "", asked))
        }
        for index in indexes {
            for (column, revision) in rows[index].fact.olderRevisions {
                let at = questions.firstIndex { $0.index == index && $0.asked.revision.isContent(of: revision) }
                if let at {
                    // The content may have been signed again later.
                    let asked = questions[at].asked.revision
                    questions[at].asked.revision = max(revision, asked)
                } else {
                    questions.append((index, column, rows[index].fact.question(revision)))
                }
            }
        }
        return questions
    }
}

extension OwnerNaming {
    /// Whether the revision lacks an account token or `appTransactionId`, which an older revision may name.
    fileprivate var lacksName: Bool { appAccountToken == nil || appTransactionID == nil }
}

extension Revision { fileprivate func isContent(of other: Revision) -> Bool { contentHash == other.contentHash } }
