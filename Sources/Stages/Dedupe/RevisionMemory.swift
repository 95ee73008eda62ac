import AppStore
import Entitlements
import OpenSSL
import Postgres

/// What deduplication remembers in PostgreSQL: the newest revision of each ID, and notifications.
///
/// It may be pruned at any moment: what is forgotten goes on once more, and the sink, whose horizon
/// has no end, adds nothing by it.
struct RevisionMemory: Sendable {
    let client: PostgresClient

    /// Tells the batch what is remembered of the IDs it names, in one round trip.
    func recall(into batch: inout DedupeBatch) async throws {
        let question = RevisionQuestion(batch.keys)
        guard !question.statements.isEmpty else { return }
        let answers = try await client.withConnection { connection in
            try await connection.pipeline(question.statements)
        }
        for row in answers.joined() {
            batch.learn(PartRevision(remembered: row), at: Int(row.int8(0)))
        }
    }

    /// Raises the memory to the marks, all of them or none, in one round trip.
    ///
    /// What is remembered only ever rises, whichever worker comes last.
    func raise(to marks: [DedupeBatch.Mark]) async throws {
        let statements = RevisionMarks(marks).statements
        guard !statements.isEmpty else { return }
        _ = try await client.withConnection { connection in
            try await connection.pipeline(statements)
        }
    }
}

extension PartRevision {
    /// The columns that `RevisionQuestion` asks for; nil for a notification's row.
    fileprivate init?(remembered row: PostgresRow) {
        guard let track = row.optionalText(1).flatMap(Track.init(rawValue:)),
            let hash = SHA256Digest(row.bytes(3))
        else { return nil }
        self.init(
            track: track,
            revision: Revision(
                signedDate: Timestamp(milliseconds: row.int8(2)),
                contentHash: hash
            ),
            identity: TransactionIdentity(remembered: row)
        )
    }
}

extension TransactionIdentity {
    fileprivate init?(remembered row: PostgresRow) {
        guard let original = row.optionalText(4), let product = row.optionalText(5),
            let purchaseDate = row.optionalInt8(6)
        else { return nil }
        self.init(
            originalTransactionID: original,
            productID: product,
            purchaseDate: Timestamp(milliseconds: purchaseDate),
            type: row.optionalText(7).map(ProductType.init(rawValue:)),
            quantity: row.optionalInt8(8).flatMap(Int32.init(exactly:))
        )
    }
}
