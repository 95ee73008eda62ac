import Demonstration
import Foundation
import Kafka
import KitWrappers
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Worker

/// The results of a lively day on one kind of broker, made once for many tests.
struct EndToEndRun: Sendable {
    let traffic: DemoTraffic
    let reference: Reference
    let picture: RowPicture
    let reconciliation: Reconciliation
    let letters: [DeadLetter]
    let refused: RefusedRecords
    let users: [String: DemoUserState]
    /// The periods of the table in milliseconds, by user, environment, app, purchase and key.
    let entitlements: [String: String]
    /// The records of each topic, `raw` among them, by name without prefix.
    let topics: [String: [ConsumerRecord]]
    /// Each worker's answer to `/metrics`, with its time.
    let metrics: [StageDescription: String]
    /// The results after everything was published again, with the memory kept and with it emptied.
    let replays: [Replay]
    /// Number of lines in each log that was searched for secrets, by file name.
    let logLineCounts: [String: Int]
    let secretsFound: [String]
    let failedStops: [String]

    struct Replay: Sendable {
        let name: String
        let changedTables: [String]
        let tableCount: Int
        let differences: [String]
    }

    static let bodyCount = 500

    /// The run of this kind of broker; the first caller starts it.
    static func of(_ kind: KafkaCluster.Kind) async throws -> EndToEndRun {
        switch kind {
        case .mock: try await mock.value
        case .real: try await real.value
        }
    }

    private static let mock = Task { try await EndToEndRun(.mock) }
    private static let real = Task { try await EndToEndRun(.real) }

    private init(_ kind: KafkaCluster.Kind) async throws {
        let traffic = try DemoTraffic(seed: 7, bodyCount: Self.bodyCount)
        let pipeline = try await RunningPipeline(PipelineSetup(kind), traffic)
        do { try await self.init(pipeline) } catch {
            await pipeline.close()
            throw error
        }
        await pipeline.close()
        pipeline.removeFolder()
    }

    private init(_ pipeline: RunningPipeline) async throws {
        traffic = pipeline.traffic
        try pipeline.startAll()
        try await pipeline.publish(traffic.items)
        reconciliation = try await pipeline.settle()
        reference = try pipeline.reference()
        picture = try await pipeline.withDatabase { try await RowPicture($0) }
        users = try await pipeline.withDatabase { try await DemoUserState.all(on: $0) }
        entitlements = try await pipeline.withDatabase { try await Self.entitlements($0) }
        (letters, refused) = try await pipeline.deadLetters()
        try await pipeline.waitUntilPublished()
        var topics: [String: [ConsumerRecord]] = [:]
        for topic in TopicLayout.flow + TopicLayout.written { topics[topic] = try await pipeline.records(of: topic) }
        self.topics = topics
        metrics = Dictionary(
            uniqueKeysWithValues: pipeline.copies.map { copy in (copy.stage, copy.get("/metrics")?.text ?? "") })
        replays = [
            try await Self.replay("everything once more", pipeline),
            try await Self.replay("everything once more, the memory emptied", pipeline) {
                try await $0.execute(script: "TRUNCATE dedupe_revisions, dedupe_notifications")
            },
        ]
        failedStops = try await pipeline.endsOfAll()
        logLineCounts = try pipeline.logs().mapValues(\.lines.count)
        secretsFound =
            try pipeline.secretsInLogs()
            + metrics.flatMap { stage, text in
                pipeline.secrets.findings(in: text).map { "/metrics of \(stage.name) \($0)" }
            }
    }

    private static func entitlements(_ connection: PostgresConnection) async throws -> [String: String] {
        let rows = try await connection.query(
            """
            SELECT concat_ws('|', user_id, environment, bundle_id, original_transaction_id,
                entitlement_key), periods
            FROM entitlements
            """)
        return rows.reduce(into: [:]) { rows, row in
            rows[row.text(0)] = row.periods(1).map { period in
                let end = period.endMilliseconds.map(String.init) ?? "ever"
                return "\(period.startMilliseconds)-\(end)"
            }.joined(separator: ",")
        }
    }

    private static func replay(
        _ name: String, _ pipeline: RunningPipeline, after prepare: (PostgresConnection) async throws -> Void = { _ in }
    ) async throws -> Replay {
        let before = try await pipeline.withDatabase { connection in
            try await prepare(connection)
            return try await TableDigests(connection)
        }
        try await pipeline.publish(pipeline.traffic.items)
        try await pipeline.settle()
        let reference = try pipeline.reference()
        return try await pipeline.withDatabase { connection in
            let after = try await TableDigests(connection)
            return Replay(
                name: name, changedTables: after.changedTables(since: before), tableCount: after.tableCount,
                differences: try await RowPicture(connection).differences(from: reference.picture))
        }
    }
}
