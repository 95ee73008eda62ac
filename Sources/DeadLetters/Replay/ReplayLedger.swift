import Kafka
import Postgres
import Records
import Store

/// What one run of a replay writes down, over the session that holds the replay's lock.
///
/// A process that stood still for so long that the server has ended its session can write nothing
/// more, whoever has taken the replay over meanwhile.
struct ReplayLedger {
    let replay: Int64
    /// Who begins or continues it.
    let who: AuditorName
    private let connection: PostgresConnection

    /// Takes the replay over: its lock, until the connection is closed.
    ///
    /// The server may need a moment to notice that a process is gone.
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
                ReplayRecordTable.read,
                ReplayRecordTable.Page(
                    replay: replay,
                    after: records.last?.ordinal ?? -1,
                    limit: Self.pageMax
                )
            )
            records += page
            if page.count < Self.pageMax { return records }
        }
    }

    func positions(topic: String) async throws -> [TopicPartition: Int64] {
        let positions = try await connection.run(ReplayPositionTable.read, replay)
        return Dictionary(
            uniqueKeysWithValues: positions.map {
                (TopicPartition(topic: topic, partition: $0.partition), $0.next)
            }
        )
    }

    func setState(_ state: ReplayState, note: String = "", action: DeadLetterAction.Kind?)
        async throws
    {
        let change = ReplayTable.Change(
            replay,
            state,
            note: StorableText.of(note),
            who: who,
            action: action
        )
        _ = try await connection.run(ReplayTable.setState, change)
    }

    func sent(_ records: [ReplayRecordTable.Sent]) async throws {
        guard !records.isEmpty else { return }
        _ = try await connection.run(ReplayRecordTable.sent, (replay, records))
    }

    /// Records outcomes and how far the dead-letter topic was read for them, both or neither.
    func decided(
        _ records: [ReplayRecordTable.Decided],
        read next: [TopicPartition: Int64]
    ) async throws {
        var pipeline = Pipeline()
        if !records.isEmpty {
            pipeline.add(ReplayRecordTable.decide, (replay, records))
        }
        if !next.isEmpty {
            pipeline.add(ReplayPositionTable.write, (replay, ReplayPositions.rows(next)))
        }
        guard !pipeline.isEmpty else { return }
        _ = try await connection.run(pipeline)
    }

    private static let pageMax = 5_000
}

/// Positions as they are stored.
enum ReplayPositions {
    static func rows(_ next: [TopicPartition: Int64]) -> [ReplayPositionTable.Position] {
        next.sorted { $0.key < $1.key }.map {
            ReplayPositionTable.Position(partition: $0.key.partition, next: $0.value)
        }
    }
}
