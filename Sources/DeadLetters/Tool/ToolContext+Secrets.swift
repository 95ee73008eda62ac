import Kafka
import Settings
import Worker

extension ToolContext {
    /// Runs what goes on for long; a Kafka password that is replaced in its file meanwhile is used
    /// from the next connection on.
    ///
    /// The database's is read at each connection anyway.
    ///
    /// - Parameter renew: called where certificates were replaced; clients that live for long have
    ///   to be made anew then, others read them when they are made.
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
