import Commands
import Kafka
package import Postgres
import Settings

extension ToolContext {
    /// Runs a long task; a password replaced in its file is used once a log-in by it has worked.
    ///
    /// - Parameters:
    ///   - database: the client whose sessions are then replaced.
    ///   - renew: called after certificates were replaced; long-lived clients must then be
    ///     recreated, others read them when they are made.
    package func followingSecrets<T>(
        of database: PostgresClient, renew: @escaping @Sendable () -> Void = {}, _ body: () async throws -> T
    ) async rethrows -> T {
        let watch = Task { await followSecrets(database, renew) }
        defer { watch.cancel() }
        return try await body()
    }

    private func followSecrets(_ database: PostgresClient, _ renew: () -> Void) async {
        let secrets = KafkaSecrets(DeadLetterSettings.clientProperties(values))
        var reported: String?
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.secretsInterval)
            // Files that are just being replaced are read the next time.
            guard !Task.isCancelled, let read = try? DeadLetterSettings.read(arguments, environment: environment) else {
                continue
            }
            var refusal: String?
            do {
                try await database.signIn()
                if try await secrets.follow(DeadLetterSettings.clientProperties(read)) { renew() }
            } catch { refusal = "new secrets do not work yet, the former ones stay in use: \(error)" }
            guard !Task.isCancelled else { return }
            if let refusal, refusal != reported { console.note(refusal) }
            reported = refusal
        }
    }

    private static let secretsInterval = Duration.seconds(5)
}
