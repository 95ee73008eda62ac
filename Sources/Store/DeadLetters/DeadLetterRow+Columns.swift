package import AppStore
import Postgres
import Records

extension DeadLetterRow {
    /// All written columns of a letter except its state.
    static let columns: Columns<DeadLetterRow> =
        [
            Column("id") { StorableText.of($0.id) }, Column("copies", \.copies),
            Column("is_disputed", \.isDisputed),
        ] + content

    /// The columns that a copy replaces if it counts.
    static let content: Columns<DeadLetterRow> =
        letter + [
            Column("source_topic") { StorableText.of($0.source.position.topic) },
            Column("source_partition", \.source.position.partition),
            Column("source_offset", \.source.position.offset),
            Column("source_at") { $0.source.at.map(StoredTime.init) },
            Column("source_sha256") { StorableText.of($0.source.sha256) },
            Column("raw_topic") { $0.raw.map { StorableText.of($0.topic) } },
            Column("raw_partition", \.raw?.partition),
            Column("raw_offset", \.raw?.offset),
        ] + unverified.of(\.identifiers) + fingerprints.of(\.certificates) + origin

    private static let letter: Columns<DeadLetterRow> = [
        Column("letter_partition", \.letterPartition),
        Column("letter_offset", \.letterOffset),
        Column("failed_at") { StoredTime($0.failedAt) },
        Column("reason") { StorableText.of($0.reason) },
        Column("class") { StorableText.of($0.deadLetterClass) },
        Column("stage") { StorableText.of($0.stage) },
        Column("detail") { StorableText.of($0.detail) },
        Column("value_state") { StorableText.of($0.valueState) },
        Column("omitted") { $0.omitted.map(StorableText.of) },
    ]

    private static let unverified: Columns<UnverifiedIdentifiers> = [
        Column("transaction_id") { $0.transactionID.map(StorableText.of) },
        Column("original_transaction_id") { $0.originalTransactionID.map(StorableText.of) },
        Column("bundle_id") { $0.bundleID.map(StorableText.of) },
        Column("environment") { $0.environment.map(StorableText.of) },
        Column("product_id") { $0.productID.map(StorableText.of) },
        Column("signed_at") { $0.signedDate.map(StoredTime.init) },
    ]

    private static let fingerprints: Columns<Certificates> = [
        Column("leaf_sha256") { $0.leaf.map(StorableText.of) },
        Column("intermediate_sha256") { $0.intermediate.map(StorableText.of) },
        Column("root_sha256") { $0.root.map(StorableText.of) },
    ]

    private static let origin: Columns<DeadLetterRow> = [
        Column("producer") { $0.producer.map(StorableText.of) },
        Column("verifier_version") { StorableText.of($0.verifierVersion) },
        Column("config_sha256") { StorableText.of($0.configurationSHA256) },
        Column("attempt", \.attempt),
        Column("worker") { StorableText.of($0.worker) },
        Column("replay_of") { $0.replayOf.map(StorableText.of) },
        Column("chain_sha256") { $0.chainSHA256.map(StorableText.of) },
        Column("chain_previous") { $0.chainPrevious.map(StorableText.of) },
        Column("contents_sha256") { StorableText.of($0.contentsSHA256) },
        Column("doubt") { $0.doubt.map(StorableText.of) },
        Column("group_id", \.groupID),
    ]
}

extension DeadLetterRow {
    /// Reads a row of `dead_letters`, or of a relation joined to it under these names.
    static let reader = RowReader<DeadLetterRow> { columns in
        let essence = essence(&columns)
        let raw = (
            columns("raw_topic", String?.self), columns("raw_partition", Int32?.self),
            columns("raw_offset", Int64?.self)
        )
        let identifiers = identifiers(&columns)
        let certificates = certificates(&columns)
        let rest = rest(&columns)
        return { row in
            var letter = essence(row)
            if let topic = row[raw.0], let partition = row[raw.1], let offset = row[raw.2] {
                letter.raw = RecordPosition(topic: topic, partition: partition, offset: offset)
            }
            letter.identifiers = identifiers(row)
            letter.certificates = certificates(row)
            rest(row, &letter)
            return letter
        }
    }

    private static func essence(
        _ columns: inout RowColumns
    ) -> @Sendable (PostgresRow) -> DeadLetterRow {
        let id = columns("id", String.self)
        let partition = columns("letter_partition", Int32.self)
        let offset = columns("letter_offset", Int64.self)
        let failedAt = columns("failed_at", StoredTime.self)
        let reason = columns("reason", String.self)
        let deadLetterClass = columns("class", String.self)
        let stage = columns("stage", String.self)
        let detail = columns("detail", String.self)
        let valueState = columns("value_state", String.self)
        let source = source(&columns)
        let verifierVersion = columns("verifier_version", String.self)
        let configuration = columns("config_sha256", String.self)
        let attempt = columns("attempt", Int64.self)
        let worker = columns("worker", String.self)
        return { row in
            DeadLetterRow(
                id: row[id],
                letterPartition: row[partition],
                letterOffset: row[offset],
                failedAt: Timestamp(row[failedAt]),
                reason: row[reason],
                deadLetterClass: row[deadLetterClass],
                stage: row[stage],
                detail: row[detail],
                valueState: row[valueState],
                source: source(row),
                identifiers: UnverifiedIdentifiers(),
                certificates: Certificates(),
                verifierVersion: row[verifierVersion],
                configurationSHA256: row[configuration],
                attempt: row[attempt],
                worker: row[worker]
            )
        }
    }

    private static func source(_ columns: inout RowColumns) -> @Sendable (PostgresRow) -> Source {
        let topic = columns("source_topic", String.self)
        let partition = columns("source_partition", Int32.self)
        let offset = columns("source_offset", Int64.self)
        let at = columns("source_at", StoredTime?.self)
        let sha256 = columns("source_sha256", String.self)
        return { row in
            Source(
                position: RecordPosition(
                    topic: row[topic],
                    partition: row[partition],
                    offset: row[offset]
                ),
                at: row[at].map(Timestamp.init),
                sha256: row[sha256]
            )
        }
    }

    private static func identifiers(
        _ columns: inout RowColumns
    ) -> @Sendable (PostgresRow) -> UnverifiedIdentifiers {
        let transaction = columns("transaction_id", String?.self)
        let original = columns("original_transaction_id", String?.self)
        let bundle = columns("bundle_id", String?.self)
        let environment = columns("environment", String?.self)
        let product = columns("product_id", String?.self)
        let signedAt = columns("signed_at", StoredTime?.self)
        return { row in
            var identifiers = UnverifiedIdentifiers()
            identifiers.transactionID = row[transaction]
            identifiers.originalTransactionID = row[original]
            identifiers.bundleID = row[bundle]
            identifiers.environment = row[environment]
            identifiers.productID = row[product]
            identifiers.signedDate = row[signedAt].map(Timestamp.init)
            return identifiers
        }
    }

    private static func certificates(
        _ columns: inout RowColumns
    ) -> @Sendable (PostgresRow) -> Certificates {
        let leaf = columns("leaf_sha256", String?.self)
        let intermediate = columns("intermediate_sha256", String?.self)
        let root = columns("root_sha256", String?.self)
        return { row in
            Certificates(leaf: row[leaf], intermediate: row[intermediate], root: row[root])
        }
    }

    private static func rest(
        _ columns: inout RowColumns
    ) -> @Sendable (PostgresRow, inout DeadLetterRow) -> Void {
        let copies = columns("copies", Int64.self)
        let omitted = columns("omitted", String?.self)
        let producer = columns("producer", String?.self)
        let replayOf = columns("replay_of", String?.self)
        let chainSHA256 = columns("chain_sha256", String?.self)
        let chainPrevious = columns("chain_previous", String?.self)
        let contents = columns("contents_sha256", String.self)
        let doubt = columns("doubt", String?.self)
        let isDisputed = columns("is_disputed", Bool.self)
        let state = columns("state", DeadLetterState.self)
        return { row, letter in
            letter.copies = row[copies]
            letter.omitted = row[omitted]
            letter.producer = row[producer]
            letter.replayOf = row[replayOf]
            letter.chainSHA256 = row[chainSHA256]
            letter.chainPrevious = row[chainPrevious]
            letter.contentsSHA256 = row[contents]
            letter.doubt = row[doubt]
            letter.isDisputed = row[isDisputed]
            letter.state = row[state]
        }
    }
}

extension StoredTime {
    /// Clamps a time to the range of the database.
    package init(_ time: Timestamp) {
        self.init(milliseconds: time.milliseconds)
    }
}

extension Timestamp {
    package init(_ time: StoredTime) {
        self.init(milliseconds: time.milliseconds)
    }
}
