import AppStore
import Commands
import JSON
import Kafka
import Postgres
import Records
import Settings
import Store

/// Compares the published versions in the feed's topics with the versions in the database.
struct FeedVersions {
    private static let usersPerTransaction = 500
    /// Maximum changes that wait for `entitle-worker`.
    private static let backlogMax: Int64 = 50_000
    private static let backlogPause = Duration.milliseconds(200)

    let settings: SettingsValues
    /// Maximum time that `republish` waits while `entitle-worker` does not reduce its backlog.
    var stallMax = Duration.seconds(60)

    /// Reads the newest version of each user in the topics.
    ///
    /// - Parameter report: called with a topic, its number of read offsets, and their total.
    func published(report: (String, Int64, Int64) -> Void) async throws -> [Identifier: Int64] {
        let reader = TopicReader(settings.kafkaConfiguration)
        var versions: [Identifier: Int64] = [:]
        for topic in [Topic.current, Topic.changed] {
            let name = settings.topic(topic)
            _ = try await reader.visit(name, progress: { report(name, $0, $1) }) { record in
                guard let key = record.key, let value = record.value,
                    let root = try? JSONDocument(parsing: value, limits: .accepted).root,
                    let version = root["version"]?.int64
                else { return }
                let user = Identifier(String(decoding: key, as: UTF8.self))
                versions[user] = max(versions[user] ?? 0, version)
            }
        }
        return versions
    }

    /// - Returns: the number of users whose versions were raised.
    func raise(_ published: [Identifier: Int64], on connection: PostgresConnection, report: (Int) -> Void) async throws
        -> Int
    {
        let users = published.sorted { $0.key < $1.key }
        var raised = 0
        for start in stride(from: 0, to: users.count, by: Self.usersPerTransaction) {
            let some = users[start..<min(start + Self.usersPerTransaction, users.count)].map {
                (userID: $0.key, version: $0.value)
            }
            raised += try await connection.transaction { transaction in
                _ = try await transaction.run(Locks.users, some.map(\.userID))
                // The versions that `begin` adds are not lower, so `raise` does not count these users again.
                let begun = try await transaction.run(FeedRecovery.begin, some).affectedCount
                return begun + (try await transaction.run(FeedRecovery.raise, some).affectedCount)
            }
            report(start + some.count)
        }
        return raised
    }

    /// Adds all users' newest states to the outbox, no faster than they are published.
    ///
    /// Throws `CommandError` if `entitle-worker` publishes nothing for a while.
    ///
    /// - Returns: the number of users.
    func republish(on connection: PostgresConnection, report: (Int64) -> Void) async throws -> Int64 {
        var total: Int64 = 0
        var last: Identifier = ""
        while true {
            try await waitForRoom(on: connection)
            let queued = try await connection.run(FeedRecovery.queue, last)[0]
            guard let next = queued.last else { return total }
            total += queued.count
            last = next
            report(total)
        }
    }

    private func waitForRoom(on connection: PostgresConnection) async throws {
        var last = Int64.max
        var progressed = ContinuousClock.now
        while true {
            let waiting = try await connection.run(OutboxTable.backlog)[0].count
            if waiting <= Self.backlogMax { return }
            if waiting < last { progressed = .now }
            last = waiting
            guard ContinuousClock.now - progressed < stallMax else {
                throw CommandError(
                    ExitCode.unavailable,
                    "\(Quantity.counted(waiting, "change")) wait to be published and get no fewer "
                        + "within \(stallMax.components.seconds) s: start entitle-worker, and run "
                        + "the command again")
            }
            try await Task.sleep(for: Self.backlogPause)
        }
    }
}
