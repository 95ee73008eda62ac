import AppStore
import Entitlements
import Holdings
import Kafka
import Postgres
import Records

/// Finds what those who wait for a record are told of its user, in the record's own transaction.
struct AnswerReading {
    /// One record that somebody waits for.
    struct Question {
        /// Its place in the batch.
        let index: Int
        let record: EntitleRecord
        let userID: String?

        /// Of whom all that they hold is listed; nil for all but the last of a body.
        var listedUserID: String? {
            record.observation.source?.isLast ?? true ? userID : nil
        }
    }

    private let questions: [Question]

    init(_ questions: [Question]) {
        self.questions = questions
    }

    /// What the users hold now, and which records brought a content that is known themselves.
    var statements: [PostgresStatement] {
        [held, brought]
    }

    private var held: PostgresStatement {
        let users = Set(questions.compactMap(\.listedUserID))
        return PostgresStatement(
            HeldReading.select(from: "unnest($1::text[]) AS asked (user_id)"),
            [.textArray(Array(users))]
        )
    }

    /// A record that comes again after a crash is no duplicate of itself.
    private var brought: PostgresStatement {
        var places = PostgresArray(of: .int8)
        var environments = PostgresArray(of: .text)
        var ids = PostgresArray(of: .text)
        var sources = SourceColumns()
        for (place, question) in questions.enumerated() {
            guard let source = question.record.observation.source else { continue }
            let record = question.record
            for id in [
                record.transaction?.key.transactionID, record.renewal?.key.originalTransactionID,
            ] {
                guard let id else { continue }
                places.append(Int64(place))
                environments.append(record.observation.environment.rawValue)
                ids.append(id)
                sources.append(source)
            }
        }
        let columns = [
            places, environments, ids, sources.topics, sources.partitions, sources.offsets,
            sources.indices,
        ]
        return PostgresStatement(Self.findBrought, columns.map { .array($0) })
    }

    private static let findBrought = """
        SELECT asked.place
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[],
                    $7::int8[])
             AS asked (place, environment, id, topic, partition, "offset", index)
        CROSS JOIN LATERAL (
            SELECT FROM revisions AS known
            WHERE known.id = asked.id AND known.environment = asked.environment
              AND known.source_topic = asked.topic AND known.source_partition = asked.partition
              AND known.source_offset = asked."offset" AND known.source_index = asked.index
            LIMIT 1
        ) AS found
        """

    /// - Parameter answers: to `statements`.
    /// - Returns: by place in the batch.
    func answers(_ answers: [PostgresRows]) -> [Int: Answer] {
        var held: [String: [HeldEntitlement]] = [:]
        for row in answers[0] {
            held[row.text(0), default: []].append(HeldEntitlement(row))
        }
        let brought = Set(answers[1].map { Int($0.int8(0)) })
        var found: [Int: Answer] = [:]
        for (place, question) in questions.enumerated() {
            let environment = question.record.observation.environment.rawValue
            found[question.index] = Answer(
                userID: question.userID,
                held: question.listedUserID.map { user in
                    (held[user] ?? []).filter { $0.environment == environment }
                },
                hasBroughtContent: brought.contains(place)
            )
        }
        return found
    }
}
