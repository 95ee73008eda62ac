import Commands
import Kafka
package import Postgres
import Settings

extension ToolContext {
    /// Runs a long task; a password that is replaced in its file is used once a sign-in with it has succeeded.
    ///
    /// - Parameters:
    ///   - database: the client whose sessions then use the new password.
    ///   - renew: called after certificates were replaced, to recreate long-lived clients; new
    ///     clients read the new files.
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
            // Files that are being replaced are read again after the next interval.
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
