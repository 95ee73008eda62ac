import AppStore
import Derivation
import Entitlements
import Holdings
import Kafka
import Postgres
import Records
import Store

/// Reads the answers for requests that wait for records, in the transaction of these records.
struct AnswerReading {
    /// A record that a request waits for, by its index in the batch.
    struct Question {
        let index: Int
        let record: EntitleRecord
        let owner: ObservedOwner?

        /// The user whose entitlements are listed.
        ///
        /// `nil` unless the record is the last of its body.
        var listedUserID: Identifier? { record.source?.isLast ?? true ? owner?.userID : nil }
    }

    private let questions: [Question]

    init(_ questions: [Question]) { self.questions = questions }

    /// Reads the answers, by the records' indexes in the batch.
    ///
    /// A single round trip reads the users' entitlements, and which records were the first to add
    /// their content: a record that is read again after a crash is no duplicate of itself.
    func answers(_ connection: PostgresConnection) async throws -> [Int: UserAnswer] {
        var pipeline = Pipeline()
        let holding = pipeline.add(HeldEntitlements.read, Array(Set(questions.compactMap(\.listedUserID))))
        let bringing = pipeline.add(RevisionTable.brought, origins)
        let answers = try await connection.run(pipeline)
        let held = HeldEntitlements.byUser(answers[holding])
        let brought = Set(answers[bringing])
        var found: [Int: UserAnswer] = [:]
        for (index, question) in questions.enumerated() {
            let environment = question.record.environment.rawValue
            found[question.index] = UserAnswer(
                owner: question.owner, held: question.listedUserID.flatMap { held[$0]?.filtered(by: environment) },
                hasBroughtContent: brought.contains(index))
        }
        return found
    }

    private var origins: [RevisionTable.Origin] {
        questions.enumerated().flatMap { index, question -> [RevisionTable.Origin] in
            let record = question.record
            guard let source = record.source else { return [] }
            let ids = [record.transaction?.key.transactionID, record.renewal?.key.originalTransactionID]
            return ids.compactMap { $0 }.map { id in
                (index: index, environment: record.environment, id: id, source: source)
            }
        }
    }
}
