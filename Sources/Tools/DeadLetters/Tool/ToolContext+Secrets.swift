import Kafka
import Settings

extension ToolContext {
    /// Runs a long task; a Kafka password replaced in its file is used from the next connection on.
    ///
    /// The database's password is read at each connection anyway.
    ///
    /// - Parameter renew: called after certificates were replaced; long-lived clients must then be
    ///   recreated, others read them when they are made.
    package func followingSecrets<T>(
        renew: @escaping @Sendable () -> Void = {},
        _ body: () async throws -> T
    ) async rethrows -> T {
        let watch = Task { await followSecrets(renew) }
        defer { watch.cancel() }
        return try await body()
    }

    private func followSecrets(_ renew: () -> Void) async {
        let secrets = KafkaSecrets(DeadLetterSettings.clientProperties(values))
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.secretsInterval)
            // Files that are just being replaced are read the next time.
            guard !Task.isCancelled,
                let read = try? DeadLetterSettings.read(arguments, environment: environment),
                (try? secrets.follow(DeadLetterSettings.clientProperties(read))) == true
            else { continue }
            renew()
        }
    }

    private static let secretsInterval = Duration.seconds(5)
}
