import Kafka
import Postgres
import Records
import Store

/// The records that one run of a replay writes, over the session that holds the replay's lock.
///
/// The server may end the session of a process that stands still; that process can then write
/// nothing more, even after another one has continued the replay.
struct ReplayLedger {
    let replay: Int64
    /// The auditor who begins or continues it.
    let who: AuditorName
    private let connection: PostgresConnection

    /// Takes the replay's lock, until the connection is closed.
    ///
    /// The server may need a moment to notice that a former process is gone.
    init(_ replay: Int64, who: AuditorName, on connection: PostgresConnection) async throws {
        self.replay = replay
        self.who = who
        self.connection = connection
        let end = ContinuousClock.now + Self.takeOverMax
        while try await connection.run(ReplayTable.acquire, replay).first != true {
            guard ContinuousClock.now < end else {
                throw ReplayError(.running, "replay \(replay) is being run by another process")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private static let takeOverMax = Duration.seconds(3)

    func row() async throws -> ReplayRow {
        guard let row = try await connection.run(ReplayTable.get, replay).first else {
            throw ReplayError(.notFound, "there is no replay \(replay)")
        }
        return row
    }

    func records() async throws -> [ReplayRecordRow] {
        var records: [ReplayRecordRow] = []
        while true {
            let page = try await connection.run(
                ReplayRecordTable.read, (replay: replay, after: records.last?.ordinal ?? -1, limit: Self.pageMax))
            records += page
            if page.count < Self.pageMax { return records }
        }
    }

    func positions(topic: String) async throws -> [TopicPartition: Int64] {
        let positions = try await connection.run(ReplayPositionTable.read, replay)
        return Dictionary(
            uniqueKeysWithValues: positions.map { (TopicPartition(topic: topic, partition: $0.partition), $0.next) })
    }

    /// The letters among these whose redaction is recorded by now.
    func redacted(among ids: [String]) async throws -> Set<String> {
        Set(try await connection.run(DeadLetterActionTable.redactedAmong, ids))
    }

    func setState(_ state: ReplayState, note: String = "", action: DeadLetterAction.Kind?) async throws {
        _ = try await connection.run(ReplayTable.setState, (replay, state, StorableText.of(note), who, action))
    }

    func sent(_ records: [ReplayRecordTable.Sent]) async throws {
        guard !records.isEmpty else { return }
        _ = try await connection.run(ReplayRecordTable.sent, (replay, records))
    }

    /// Records outcomes together with the dead-letter offsets that were read for them.
    func decided(_ records: [ReplayRecordTable.Decided], read next: [TopicPartition: Int64]) async throws {
        var pipeline = Pipeline()
        if !records.isEmpty { pipeline.add(ReplayRecordTable.decide, (replay, records)) }
        if !next.isEmpty {
            let rows = next.sorted { $0.key < $1.key }.map { (partition: $0.key.partition, next: $0.value) }
            pipeline.add(ReplayPositionTable.write, (replay, rows))
        }
        guard !pipeline.isEmpty else { return }
        _ = try await connection.run(pipeline)
    }

    private static let pageMax = 5_000
}
