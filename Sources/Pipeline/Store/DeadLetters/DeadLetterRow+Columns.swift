package import AppStore
import Postgres
import Records

extension DeadLetterRow: StoredValue {
    /// All written columns of a letter, and its state, which is only read.
    static let fields = Fields(
        DeadLetterRow.init, .text("id", \.id), Field("copies", \.copies), Field("is_disputed", \.isDisputed),
        Field("letter_partition", \.letterPartition), Field("letter_offset", \.letterOffset),
        .time("failed_at", \.failedAt), .text("reason", \.reason), .text("class", \.deadLetterClass),
        .text("stage", \.stage), .text("detail", \.detail), .text("value_state", \.valueState),
        .optionalText("omitted", \.omitted), Field(\.source), raw, Field(\.identifiers), Field(\.certificates),
        .optionalText("producer", \.producer), .text("verifier_version", \.verifierVersion),
        .text("config_sha256", \.configurationSHA256), Field("attempt", \.attempt), .text("worker", \.worker),
        .optionalText("replay_of", \.replayOf), .optionalText("chain_sha256", \.chainSHA256),
        .optionalText("chain_previous", \.chainPrevious), .text("contents_sha256", \.contentsSHA256),
        .optionalText("doubt", \.doubt), Field(columns: [], reader: "state"))

    static let columns = fields.columns + [Column("group_id", \.groupID)]

    private static let raw = Field<DeadLetterRow, RecordPosition?>(
        columns: [
            Column("raw_topic") { $0.raw.map { StorableText.of($0.topic) } }, Column("raw_partition", \.raw?.partition),
            Column("raw_offset", \.raw?.offset),
        ], reader: RecordPosition.optionalReader("raw"))
}

extension DeadLetterRow.Source: StoredValue {
    static let fields = Fields(
        DeadLetterRow.Source.init,
        Field(
            columns: [
                Column("source_topic") { StorableText.of($0.position.topic) },
                Column("source_partition", \.position.partition), Column("source_offset", \.position.offset),
            ], reader: RecordPosition.reader), .optionalTime("source_at", \.at), .text("source_sha256", \.sha256))
}

extension DeadLetterRow.Certificates: StoredValue {
    static let fields = Fields(
        DeadLetterRow.Certificates.init, .optionalText("leaf_sha256", \.leaf),
        .optionalText("intermediate_sha256", \.intermediate), .optionalText("root_sha256", \.root))
}

extension UnverifiedIdentifiers: StoredValue {
    static let fields = Fields(
        { transactionID, originalTransactionID, bundleID, environment, productID, signedDate in
            var identifiers = UnverifiedIdentifiers()
            identifiers.transactionID = transactionID
            identifiers.originalTransactionID = originalTransactionID
            identifiers.bundleID = bundleID
            identifiers.environment = environment
            identifiers.productID = productID
            identifiers.signedDate = signedDate
            return identifiers
        }, .optionalText("transaction_id", \.transactionID),
        .optionalText("original_transaction_id", \.originalTransactionID), .optionalText("bundle_id", \.bundleID),
        .optionalText("environment", \.environment), .optionalText("product_id", \.productID),
        .optionalTime("signed_at", \.signedDate))
}

extension Field where Part == String {
    /// A text of strangers; the row that is read back holds it as `StorableText`.
    static func text(_ name: String, _ get: @escaping @Sendable (Whole) -> String) -> Field {
        Field(columns: [Column(name) { StorableText.of(get($0)) }], reader: RowReader(stringLiteral: name))
    }
}

extension Field where Part == String? {
    static func optionalText(_ name: String, _ get: @escaping @Sendable (Whole) -> String?) -> Field {
        Field(columns: [Column(name) { get($0).map(StorableText.of) }], reader: RowReader(stringLiteral: name))
    }
}

extension Field where Part == Timestamp {
    /// A column of type `timestamptz`.
    static func time(_ name: String, _ get: @escaping @Sendable (Whole) -> Timestamp) -> Field {
        Field(columns: [Column(name) { StoredTime(get($0)) }], reader: .time(name))
    }
}

extension Field where Part == Timestamp? {
    static func optionalTime(_ name: String, _ get: @escaping @Sendable (Whole) -> Timestamp?) -> Field {
        Field(columns: [Column(name) { get($0).map(StoredTime.init) }], reader: RowReader<Timestamp>.optionalTime(name))
    }
}

extension StoredTime {
    /// Clamps a time to the range of the database.
    package init(_ time: Timestamp) { self.init(milliseconds: time.milliseconds) }
}

extension Timestamp { package init(_ time: StoredTime) { self.init(milliseconds: time.milliseconds) } }
