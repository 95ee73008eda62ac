package import AppStore
import Postgres
package import Records

/// A filter for dead letters; an empty or nil member matches all.
package struct DeadLetterQuery: Equatable, Sendable {
    package var reasons: Set<String> = []
    package var classes: Set<String> = []
    package var stages: Set<String> = []
    package var states: Set<DeadLetterState> = []
    package var bundleID: String?
    package var environment: String?
    package var productID: String?
    /// The transaction ID or original transaction ID in the original.
    package var transactionID: String?
    /// The beginning of a fingerprint, of the leaf, the intermediate or the root.
    package var certificate: String?
    package var worker: String?
    /// The position of the source record, or of the body that it came from.
    package var source: RecordPosition?
    /// Earliest time of failure, inclusive.
    package var since: Timestamp?
    /// Latest time of failure, exclusive.
    package var until: Timestamp?
    /// A `DeadLetterRow.groupID`.
    package var group: String?
    package var ids: Set<String> = []

    package init() {}

    /// Whether the rows of `dead_letter_hours` answer it.
    var isCounted: Bool { productID == nil && transactionID == nil && source == nil && ids.isEmpty }

    /// Whether the rows of `dead_letter_hours` show in which hours and groups its letters lie.
    var isNarrowedByHours: Bool {
        var times = DeadLetterQuery()
        times.since = since
        times.until = until
        return isCounted && self != times
    }
}

extension DeadLetterQuery {
    /// The parameters of a query, after the statement's other parameters.
    static func parameters<Input>(_ query: @escaping @Sendable (Input) -> DeadLetterQuery) -> [Parameter<Input>] {
        counted(query) + [
            .value("product") { query($0).productID.map(StorableText.of) },
            .value("transaction") { query($0).transactionID.map(StorableText.of) },
            .value("source_topic") { query($0).source?.topic },
            .value("source_partition") { query($0).source?.partition },
            .value("source_offset") { query($0).source?.offset }, .values("ids") { query($0).ids.map(StorableText.of) },
            .value("since") { query($0).since.map(StoredTime.init) },
            .value("until") { query($0).until.map(StoredTime.init) },
        ]
    }

    /// The parameters that `dead_letter_hours` covers; the times are separate.
    static func counted<Input>(_ query: @escaping @Sendable (Input) -> DeadLetterQuery) -> [Parameter<Input>] {
        [
            .values("reasons") { Array(query($0).reasons) }, .values("classes") { Array(query($0).classes) },
            .values("stages") { Array(query($0).stages) }, .values("states") { query($0).states.map(\.rawValue) },
            .value("bundle") { query($0).bundleID.map(StorableText.of) },
            .value("certificate") { query($0).certificate?.lowercased() },
            .value("environment") { query($0).environment.map(StorableText.of) },
            .value("worker") { query($0).worker.map(StorableText.of) }, .value("group") { query($0).group },
        ]
    }

    /// The condition on rows of `dead_letters` under the name `letter`.
    ///
    /// The planner drops unused filters, as it knows the values that a statement is run with (see
    /// `DeadLetterTable.sessionSettings`).
    static let condition = """
        \(countedCondition(of: "letter", environment: "letter.environment", key: "letter"))
        AND ($product IS NULL OR letter.product_id = $product)
        AND ($transaction IS NULL OR letter.transaction_id = $transaction
            OR letter.original_transaction_id = $transaction)
        AND ($source_topic IS NULL
            OR letter.source_topic = $source_topic
                AND letter.source_partition = $source_partition
                AND letter.source_offset = $source_offset
            OR letter.raw_topic = $source_topic AND letter.raw_partition = $source_partition
                AND letter.raw_offset = $source_offset)
        AND (cardinality($ids) = 0 OR letter.id = ANY ($ids))
        AND ($since IS NULL OR letter.failed_at >= $since)
        AND ($until IS NULL OR letter.failed_at < $until)
        """

    /// The same condition for counted rows.
    ///
    /// - Parameters:
    ///   - relation: has class, stage, worker, state and group.
    ///   - key: has the common properties of a group's letters.
    static func countedCondition(of relation: String, environment: String, key: String) -> String {
        """
        \(commonCondition(of: key))
        AND \(hourCondition(of: relation, environment: environment))
        """
    }

    /// The condition on the common properties of a group's letters.
    static func commonCondition(of key: String) -> String {
        """
        (cardinality($reasons) = 0 OR \(key).reason = ANY ($reasons))
        AND ($bundle IS NULL OR \(key).bundle_id = $bundle)
        AND ($certificate IS NULL
            \(["leaf", "intermediate", "root"].map { role in
                "OR \(key).\(role)_sha256 >= $certificate"
                    + " AND \(key).\(role)_sha256 < $certificate || '~'"
            }.joined(separator: "\n    ")))
        """
    }

    /// The condition on the properties in which letters of one group and hour differ.
    static func hourCondition(of relation: String, environment: String) -> String {
        """
        (cardinality($classes) = 0 OR \(relation).class = ANY ($classes))
        AND (cardinality($stages) = 0 OR \(relation).stage = ANY ($stages))
        AND (cardinality($states) = 0 OR \(relation).state = ANY ($states))
        AND ($environment IS NULL OR \(environment) = $environment)
        AND ($worker IS NULL OR \(relation).worker = $worker)
        AND ($group IS NULL OR \(relation).group_id = $group)
        """
    }
}
