import Postgres
import Records
import Store

/// Writes the records of one run of a replay, over the session that holds the replay's lock.
///
/// The server may end the session of a process that hangs. Such a process can write nothing more,
/// even after another process has continued the replay.
struct ReplayLedger {
    let replay: Int64
    /// The auditor who begins or continues the replay.
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

    /// The index's progress in each partition of the dead-letter topic.
    func readings(of topic: String) async throws -> [DeadLetterIndexTable.Reading] {
        Array(try await connection.run(DeadLetterIndexTable.readReadings, topic))
    }

    /// The records among these that have a new dead letter in the index.
    func refused(among ordinals: [Int64]) async throws -> [ReplayRecordTable.Decided] {
        Array(try await connection.run(ReplayRecordTable.refused, (replay, ordinals)))
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

    func decided(_ records: [ReplayRecordTable.Decided]) async throws {
        guard !records.isEmpty else { return }
        _ = try await connection.run(ReplayRecordTable.decide, (replay, records))
    }

    private static let pageMax = 5_000
}
