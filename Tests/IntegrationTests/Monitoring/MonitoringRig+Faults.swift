import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Worker

/// The means to make faults.
extension MonitoringRig {
    /// UNIX milliseconds.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// The traffic without the records that end as dead letters.
    var acceptedItems: [DemoItem] { pipeline.traffic.items.filter { $0.expectedRefusal == nil } }

    /// Stops all copies of a worker, starts one with these settings beside its others, and scrapes
    /// it.
    func restart(_ stage: StageDescription, _ environment: [String: String] = [:]) async throws {
        try await stop(stage)
        try pipeline.start(stage, environment: environment)
        try await pipeline.waitUntilReady()
        try prometheus.scrape(pipeline.copies)
    }

    /// Stops all copies of a worker.
    func stop(_ stage: StageDescription) async throws {
        for copy in pipeline.copies where copy.stage == stage { try await pipeline.stop(copy) }
    }

    /// Commits for a group that has no members, as another program may.
    func commit(_ commits: [TopicPartition: OffsetCommit], forGroup group: String) async throws {
        let consumer = try KafkaConsumer(configuration: pipeline.cluster.client.merging(["group.id": group]) { $1 })
        let outcome = await consumer.commit(commits, deadline: .seconds(10))
        #expect(outcome.failures.isEmpty)
        await consumer.close(deadline: .seconds(5))
    }

    /// Writes the settings file as it was at the start, changed.
    func writeSettings(_ change: (String) throws -> String = { $0 }) throws {
        try change(settingsText).write(toFile: settingsPath, atomically: true, encoding: .utf8)
    }

    /// Runs a daily task, as its timer does.
    func perform(_ task: String) async throws {
        let commands = ["chains": "dead-letter verify", "prune": "dead-letter index --prune --yes"]
        let command = "\(commands[task] ?? task) --metrics \(prometheus.taskFile(task))"
        let ended = try await run(command)
        #expect(ended.exitCode == 0, "\(command): \(ended.output)")
    }

    /// Makes the account, as the timer does every hour.
    func reconcile(_ variables: [String: String] = [:], exitCode: Int32 = 0) async throws {
        let command = "pipeline reconcile --metrics \(prometheus.metricsFile)"
        let answer = try await run(command, variables)
        #expect(answer.exitCode == exitCode, "\(answer.output)")
    }

    /// Makes a run over each app's whole notification history due.
    func readHistory() async throws {
        try await pipeline.execute("UPDATE recovery_windows SET due_at = now() WHERE job = 'complete'")
    }

    /// Forgets earlier records, so that they are news again.
    func forgetDuplicates() async throws {
        let answer = try await run("pipeline dedupe forget --all --yes")
        #expect(answer.exitCode == 0, "\(answer.output)")
    }

    /// The traffic's catalog with other keys.
    func catalog(_ key: (String) -> String) -> String {
        pipeline.traffic.catalog.replacing(/"entitlements": \[([^\]]*)\]/) { match in
            let keys = match.1.split(separator: ",").map { text in
                "\"" + key(text.trimmingCharacters(in: CharacterSet(charactersIn: " \""))) + "\""
            }
            return "\"entitlements\": [\(keys.joined(separator: ","))]"
        }
    }

    func apply(catalog: String) async throws {
        let path = "\(pipeline.folder)/catalog.json"
        try catalog.write(toFile: path, atomically: true, encoding: .utf8)
        let answer = try await run("pipeline catalog apply --yes \(path)")
        #expect(answer.exitCode == 0, "\(answer.output)")
    }
}

/// Bodies that were never posted before.
extension MonitoringRig {
    /// A purchase without end of a user without a link.
    func purchase(_ adjust: (inout TransactionFields) -> Void = { _ in }) -> TransactionFields {
        let id = String(8_000_000_000_000_000 + nextNumber())
        var fields = TransactionFields()
        fields.transactionID = id
        fields.originalTransactionID = id
        fields.productID = "com.example.pro.lifetime"
        fields.type = "Non-Consumable"
        adjust(&fields)
        return fields
    }

    /// A notification of a type, about a purchase of its own.
    func notification(_ type: String) throws -> [UInt8] {
        var data = NotificationDataFields()
        let transaction = try pipeline.traffic.authority.sign(purchase().json)
        data.signedTransactionInfo = String(decoding: transaction, as: UTF8.self)
        var fields = NotificationFields()
        fields.notificationType = type
        fields.notificationUUID = UUID().uuidString.lowercased()
        fields.data = data.json
        return Body.notification(try pipeline.traffic.authority.sign(fields.json))
    }

    /// - Parameter users: the users that ingestion names in the header `user-id`.
    func post(_ purchase: TransactionFields, users: [String] = []) async throws {
        try await post(pipeline.traffic.authority.sign(purchase.json), users: users)
    }

    func post(_ body: [UInt8], users: [String] = []) async throws {
        let record = ProducerRecord(
            topic: pipeline.layout.prefix + Topic.raw, key: Array("faults".utf8), value: body,
            headers: users.map { KafkaHeader(name: "user-id", text: $0) })
        try await pipeline.publish([record])
    }
}

/// Transactions that make others wait.
extension MonitoringRig {
    /// Locks a table in a mode, until `unlock`.
    func lock(_ lock: String) async throws {
        var options = pipeline.database
        options.silenceMax = .seconds(600)
        let connection = try await PostgresConnection.connect(options)
        holding { $0.locks.append(connection) }
        try await connection.execute(script: "BEGIN; LOCK TABLE \(lock)")
    }

    func unlock() async {
        for connection in holding({ held in
            defer { held.locks = [] }
            return held.locks
        }) { await connection.close() }
    }

    /// Whether a session of a program waits for a lock.
    func waitsForLock(_ program: String) async throws -> Bool {
        try await pipeline.withDatabase { connection in
            try await !connection.query(
                """
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = $1
                    AND wait_event_type = 'Lock'
                """, [.text(program)]
            ).isEmpty
        }
    }

    /// Starts responders that answer that no certificate of `authority` is revoked.
    func startResponders() async throws {
        let responders = [try await authority.leafResponder(), try await authority.intermediateResponder()]
        holding { $0.responders += responders }
    }

    /// Posts what `authority` has signed again and again, until the firing alerts are as expected.
    ///
    /// verify-worker asks responders when records arrive: an idle one asks nothing.
    func postRevocable(until isOver: (Set<String>) -> Bool) async throws {
        _ = try await becomesTrue(within: .seconds(120), every: .seconds(1)) {
            try await post(authority.authority.sign(purchase().json))
            return prometheus.firing().map(isOver) ?? false
        }
    }

    func stopResponders() async throws {
        let responders = holding { held in
            defer { held.responders = [] }
            return held.responders
        }
        for responder in responders { try await responder.stop() }
    }
}
