import JSON
import Kafka
import Postgres
import Records
import Settings
import Store
import Worker

/// Compares the versions that the feed's topics hold with those that the database gives out.
struct FeedVersions {
    private static let readDeadline = Duration.seconds(24 * 3_600)
    private static let usersPerTransaction = 500
    /// How much waits for entitle-worker at most.
    private static let backlogMax: Int64 = 50_000
    private static let backlogPause = Duration.milliseconds(200)

    private let settings: SettingsValues

    init(_ settings: SettingsValues) {
        self.settings = settings
    }

    /// The newest version of each user in the topics.
    func published() async throws -> [String: Int64] {
        let reader = TopicReader(settings.kafkaConfiguration)
        var versions: [String: Int64] = [:]
        for topic in [Topic.current, Topic.changed] {
            let name = settings.topic(topic)
            _ = try await reader.visit(name, deadline: Self.readDeadline) { record in
                guard let key = record.key, let value = record.value,
                    let root = try? JSONDocument(parsing: value).root,
                    let version = root["version"]?.int64
                else { return }
                let user = String(decoding: key, as: UTF8.self)
                versions[user] = max(versions[user] ?? 0, version)
            }
        }
        return versions
    }

    /// - Returns: how many users' versions were raised.
    func raise(
        _ published: [String: Int64],
        on connection: PostgresConnection,
        report: (Int) -> Void
    ) async throws -> Int {
        let users = published.sorted { $0.key < $1.key }
        var raised = 0
        for start in stride(from: 0, to: users.count, by: Self.usersPerTransaction) {
            let some = users[start..<min(start + Self.usersPerTransaction, users.count)].map {
                FeedRecovery.Published(userID: $0.key, version: $0.value)
            }
            raised += try await connection.transaction { transaction in
                _ = try await transaction.run(Locks.users, some.map(\.userID))
                // Those that are begun are not behind.
                let begun = try await transaction.run(FeedRecovery.begin, some).affectedCount
                return begun + (try await transaction.run(FeedRecovery.raise, some).affectedCount)
            }
            report(start + some.count)
        }
        return raised
    }

    /// Puts all users' newest states into the outbox, no faster than it empties.
    ///
    /// - Returns: how many users.
    func republish(
        on connection: PostgresConnection,
        report: (Int64) -> Void
    ) async throws -> Int64 {
        var total: Int64 = 0
        var last = ""
        while true {
            while try await connection.run(OutboxTable.backlog)[0].count > Self.backlogMax {
                try await Task.sleep(for: Self.backlogPause)
            }
            let queued = try await connection.run(FeedRecovery.queue, last)[0]
            guard let next = queued.last else { return total }
            total += queued.count
            last = next
            report(total)
        }
    }
}
