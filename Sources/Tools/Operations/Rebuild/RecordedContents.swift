import AppStore
import Entitlements
import JSON
import Postgres
import Store

/// Derives facts from contents of the table `revisions` again.
///
/// A bounded number of payloads is in memory at once, however many contents a purchase has.
struct RecordedContents {
    let connection: PostgresConnection

    /// Maximum payloads read at once; each is at most as large as a body.
    static let payloadsMax = 100

    /// A requested content.
    struct Question {
        let subject: RevisionTable.Subject
        let trust: Trust
        /// The revision of the content, with the date for the fact.
        var revision: Revision

        fileprivate var name: RevisionTable.Name {
            RevisionTable.Name(
                subject: subject, trust: subject.kind == .renewal ? trust.text : "", contentHash: revision.contentHash)
        }
    }

    enum Reading {
        case missing
        /// The payload does not match its hash.
        case unreadable
        case facts(SignedFacts)
    }

    /// Reads contents, `payloadsMax` at a time, and passes each with its index to `body`.
    func read(_ questions: [Question], _ body: (Int, Reading) -> Void) async throws {
        var start = 0
        while start < questions.count {
            let part = questions[start..<min(start + Self.payloadsMax, questions.count)]
            let answers = try await connection.run(RevisionTable.payloads, part.map(\.name))
            var isThere = [Bool](repeating: false, count: part.count)
            for answer in answers {
                isThere[answer.index] = true
                let question = part[start + answer.index]
                body(start + answer.index, Self.reading(answer.json, question))
            }
            for index in isThere.indices where !isThere[index] { body(start + index, .missing) }
            start = part.endIndex
        }
    }

    private static func reading(_ payload: JSONText, _ question: Question) -> Reading {
        let signer = question.subject.environment.signer(question.trust)
        guard let json = try? JSONDocument(parsing: Array(payload.bytes), limits: .accepted).root,
            let facts = try? SignedFacts(
                of: payloads(json, question.subject.kind), environment: question.subject.environment,
                bundleID: question.subject.kind == .renewal ? nil : question.subject.bundleID,
                track: question.subject.track, trust: question.trust,
                signer: question.subject.id.text.utf8.suffix(signer.utf8.count).elementsEqual(signer.utf8) ? signer : ""
            ), facts.isContent(question.revision), facts.subject == question.subject
        else { return .unreadable }
        return .facts(facts)
    }

    private static func payloads(_ json: JSONValue, _ kind: RevisionTable.Kind) -> SignedPayloads {
        switch kind {
        case .transaction: SignedPayloads(transaction: json)
        case .renewal: SignedPayloads(renewalInfo: json)
        case .appTransaction: SignedPayloads(appTransaction: json)
        }
    }
}

extension SignedFacts {
    /// Whether the facts were read from the content of a revision.
    fileprivate func isContent(_ revision: Revision) -> Bool {
        let read = transaction?.revision ?? renewal?.revision ?? appTransaction?.revision
        return read?.contentHash == revision.contentHash
    }

    fileprivate var subject: RevisionTable.Subject? {
        transaction?.subject ?? renewal?.subject ?? appTransaction?.subject
    }
}
