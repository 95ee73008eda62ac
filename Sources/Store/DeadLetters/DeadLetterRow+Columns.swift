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
    static let reader = RowReader(
        DeadLetterRow.init,
        "id",
        "letter_partition",
        "letter_offset",
        "copies",
        RowReader.time("failed_at"),
        "reason",
        "class",
        "stage",
        "detail",
        "value_state",
        "omitted",
        sourceReader,
        RecordPosition.optionalReader("raw"),
        identifiersReader,
        certificatesReader,
        "producer",
        "verifier_version",
        "config_sha256",
        "attempt",
        "worker",
        "replay_of",
        "chain_sha256",
        "chain_previous",
        "contents_sha256",
        "doubt",
        "is_disputed",
        "state"
    )

    private static let sourceReader = RowReader(
        Source.init,
        RecordPosition.reader,
        RowReader.optionalTime("source_at"),
        "source_sha256"
    )

    private static let certificatesReader = RowReader(
        Certificates.init,
        "leaf_sha256",
        "intermediate_sha256",
        "root_sha256"
    )

    private static let identifiersReader = RowReader<UnverifiedIdentifiers>(
        {
            (
                transactionID: String?,
                originalTransactionID: String?,
                bundleID: String?,
                environment: String?,
                productID: String?,
                signedDate: Timestamp?
            ) in
            var identifiers = UnverifiedIdentifiers()
            identifiers.transactionID = transactionID
            identifiers.originalTransactionID = originalTransactionID
            identifiers.bundleID = bundleID
            identifiers.environment = environment
            identifiers.productID = productID
            identifiers.signedDate = signedDate
            return identifiers
        },
        "transaction_id",
        "original_transaction_id",
        "bundle_id",
        "environment",
        "product_id",
        RowReader.optionalTime("signed_at")
    )
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
