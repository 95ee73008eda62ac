package import AppStore
package import Entitlements
package import OpenSSL
import Postgres
package import Records

/// Contents that `pipeline rebuild` reads to derive facts from them again.
extension RevisionTable {
    /// An ID; it may have several signed contents.
    package struct Subject: Hashable, Sendable, StoredValue {
        package let kind: Kind
        package let environment: Environment
        /// The app; empty for renewal info, which has none.
        package let bundleID: Identifier
        package let id: Identifier
        package let track: Track

        package init(kind: Kind, environment: Environment, bundleID: Identifier, id: Identifier, track: Track) {
            self.kind = kind
            self.environment = environment
            self.bundleID = bundleID
            self.id = id
            self.track = track
        }

        static let fields = Fields(
            Subject.init, Field("kind", \.kind), Field("environment", \.environment), Field("bundle_id", \.bundleID),
            Field("id", \.id), Field("track", \.track))
    }

    /// The key of one content: the subject, the trust and the hash.
    package struct Name: Hashable, Sendable {
        package let subject: Subject
        /// The trust; empty for all but renewal info.
        package let trust: String
        package let contentHash: SHA256Digest

        package init(subject: Subject, trust: String, contentHash: SHA256Digest) {
            self.subject = subject
            self.trust = trust
            self.contentHash = contentHash
        }

        /// The name before all others, because no ID is empty.
        package static let start = Name(
            subject: Subject(
                kind: .transaction, environment: Environment(rawValue: ""), bundleID: "", id: "", track: .jws),
            trust: "", contentHash: SHA256.digest([]))
    }

    /// A content without its payload.
    package struct Content: Sendable {
        /// The index of the subject in the question.
        package let index: Int
        /// The trust; empty for all but renewal info.
        package let trust: String
        /// The revision with the date of its first signature.
        package let revision: Revision
        /// The position of the raw record that first contained the content.
        package let source: RecordPosition
        /// The number of contents of the subject and trust.
        package let count: Int
    }

    /// The content of each subject and trust with the latest first signature.
    package static let newest = Statement<[Subject], Content>(
        [.rows("asked", [.index] + Subject.columns)], returning: contentReader,
        """
        SELECT asked.index, \(contentNames)
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT DISTINCT ON (known.trust) known.trust, known.signed_date_ms,
                known.content_hash, known.source_topic, known.source_partition,
                known.source_offset, count(*) OVER (PARTITION BY known.trust) AS count
            FROM revisions AS known
            WHERE \(Subject.columns.equal("known", "asked"))
            ORDER BY known.trust, known.signed_date_ms DESC, known.content_hash DESC
        ) AS known
        """)

    /// The contents that state a renewal span.
    package static let stating = contents(where: statesSpans("known"))

    /// The contents that may add something to a newer one: a name of the owner, or a receipt's revocation.
    package static let older = contents(
        where: ["appAccountToken", "appTransactionId", "revocationDate"].map { "known.payload ->> '\($0)' IS NOT NULL" }
            .joined(separator: " OR "))

    /// The contents that meet a condition, and contents whose condition PostgreSQL cannot evaluate.
    ///
    /// PostgreSQL cannot read members of a payload with an escape that it cannot store.
    private static func contents(where condition: String) -> Statement<[Subject], Content> {
        Statement(
            [.rows("asked", [.index] + Subject.columns)], returning: contentReader,
            """
            SELECT asked.index, \(contentNames)
            FROM $asked
            CROSS JOIN LATERAL (
                SELECT known.*, 1 AS count FROM revisions AS known
                WHERE \(Subject.columns.equal("known", "asked"))
                  AND CASE
                          WHEN strpos(known.payload::text, '\\u') > 0 THEN true
                          ELSE \(condition)
                      END
                OFFSET 0
            ) AS known
            """)
    }

    /// The condition that a renewal info states a span, which a newer one neither repeats nor revokes.
    ///
    /// Such a content is never archived, and a rebuild reads it again.
    private static func statesSpans(_ relation: String) -> String {
        let members = RenewalSpan.Kind.allCases.map(\.endMember)
        let conditions = members.map { "\(relation).payload ->> '\($0)' IS NOT NULL" }
        return "(\(conditions.joined(separator: " OR ")))"
    }

    /// The payload of a requested content; missing contents are omitted.
    package struct Payload: Sendable {
        /// The index of the name in the question.
        package let index: Int
        package let json: JSONText
    }

    package static let payloads = Statement<[Name], Payload>(
        [
            .rows(
                "asked",
                [.index] + Subject.columns.of(\.subject) + [
                    Column("trust", \.trust), Column("content_hash", \.contentHash),
                ])
        ], returning: RowReader(Payload.init, "index", "payload"),
        """
        SELECT asked.index, known.payload
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT known.payload FROM revisions AS known
            WHERE \(Subject.columns.equal("known", "asked")) AND known.trust = asked.trust
              AND known.content_hash = asked.content_hash
            OFFSET 0
        ) AS known
        """)

    private static let contentNames = """
        known.trust, known.signed_date_ms, known.content_hash, known.source_topic,
        known.source_partition, known.source_offset, known.count
        """

    private static let contentReader = RowReader(
        Content.init, "index", "trust", Revision.reader, RecordPosition.reader, "count")
}

extension RecordPosition {
    /// Reads the columns that name the raw record of a content.
    static let reader = RowReader(RecordPosition.init, "source_topic", "source_partition", "source_offset")
}
