import AppStore
package import Postgres
import Records

extension DeadLetterTable {
    /// The letters that any identifier finds: a transaction, bundle, product or group ID, a worker,
    /// the beginning of a letter's ID or, from six digits on, of a fingerprint, or the position of
    /// the source record, of its body, or of the letter; the newest first.
    package static func search(_ text: String, limit: Int, on client: PostgresClient) async throws -> [DeadLetterRow] {
        try await client.withConnection { connection in
            var pipeline = Pipeline()
            var found = [pipeline.add(search, (text, RecordPosition(text), limit))]
            for query in queries(text) {
                found.append(pipeline.add(page(of: query, .newestFirst), (query, nil, limit)))
            }
            let results = try await connection.run(pipeline)
            var letters: [String: DeadLetterRow] = [:]
            for letter in found.flatMap({ results[$0] }) { letters[letter.id] = letter }
            let newestFirst = letters.values.sorted { left, right in
                (left.failedAt.milliseconds, left.id) > (right.failedAt.milliseconds, right.id)
            }
            return Array(newestFirst.prefix(limit))
        }
    }

    /// The number of letters that an identifier finds; one that is found as two kinds counts twice.
    package static func searchTotal(_ text: String, on client: PostgresClient) async throws -> Int64 {
        try await client.withConnection { connection in
            var pipeline = Pipeline()
            var found = [pipeline.add(searchCount, (text, RecordPosition(text), 0))]
            for query in queries(text) { found.append(pipeline.add(DeadLetterCounts.totalOfHours, query)) }
            let results = try await connection.run(pipeline)
            return found.reduce(0) { $0 + results[$1][0] }
        }
    }

    /// The queries that the counts by hour narrow down.
    private static func queries(_ text: String) -> [DeadLetterQuery] {
        var queries = Array(repeating: DeadLetterQuery(), count: 3)
        queries[0].group = text.lowercased()
        queries[1].bundleID = text
        queries[2].worker = text
        if text.utf8.count >= fingerprintDigitsMin, text.allSatisfy(\.isHexDigit) {
            var query = DeadLetterQuery()
            query.certificate = text
            queries.append(query)
        }
        return queries
    }

    private static let fingerprintDigitsMin = 6

    typealias Search = (text: String, position: RecordPosition?, limit: Int)

    /// A bounded look-up for each kind of identifier, because no index would serve a combined one.
    static let search = Statement<Search, DeadLetterRow>(
        identifiers + [.value("limit", \.limit)], returning: DeadLetterRow.reader,
        """
        SELECT DISTINCT \(DeadLetterRow.reader.names(of: "letter"))
        FROM (
            \(searched.map { "(SELECT * FROM dead_letters WHERE \($0.condition) \($0.order) LIMIT $limit)" }
                .joined(separator: "\nUNION ALL "))
        ) AS letter
        ORDER BY letter.failed_at DESC, letter.id DESC LIMIT $limit
        """)

    static let searchCount = Statement<Search, Int64>(
        identifiers, returning: RowReader("letters"),
        """
        SELECT count(*) AS letters
        FROM (
            \(searched.map { "SELECT id FROM dead_letters WHERE \($0.condition)" }
                .joined(separator: "\nUNION "))
        ) AS letter
        """)

    private static let identifiers: [Parameter<Search>] = [
        .value("text") { StorableText.of($0.text) }, .value("digits") { StorableText.of($0.text.lowercased()) },
        .value("topic", \.position?.topic), .value("partition", \.position?.partition),
        .value("offset", \.position?.offset),
    ]

    private static let searched: [(condition: String, order: String)] = [
        ("id >= $digits AND id < $digits || '~'", "ORDER BY id"), ("replay_of = $text", ""),
        ("transaction_id = $text", ""), ("original_transaction_id = $text", ""),
        ("product_id = $text", "ORDER BY failed_at DESC"),
        ("source_topic = $topic AND source_partition = $partition AND source_offset = $offset", ""),
        ("raw_topic = $topic AND raw_partition = $partition AND raw_offset = $offset", ""),
        (
            """
            $topic IN (SELECT topic FROM dead_letter_progress)
            AND letter_partition = $partition AND letter_offset = $offset
            """, ""
        ),
    ]
}
