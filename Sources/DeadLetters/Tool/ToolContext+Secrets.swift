import Kafka
import Settings

extension ToolContext {
    /// Runs what goes on for long; a Kafka password that is replaced in its file meanwhile is used
    /// from the next connection on.
    ///
    /// The database's is read at each connection anyway, and certificates by each new client.
    package func followingSecrets<T>(_ body: () async throws -> T) async rethrows -> T {
        let watch = Task { await followSecrets() }
        defer { watch.cancel() }
        return try await body()
    }

    private func followSecrets() async {
        var known = KafkaIdentity(values.kafkaProperties)
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.secretsInterval)
            // A file that is just being replaced is read the next time.
            guard let read = try? DeadLetterSettings.read(arguments, environment: environment)
            else { continue }
            let newest = KafkaIdentity(read.kafkaProperties)
            KafkaIdentity.replace(known, by: newest)
            known = newest
        }
    }

    private static let secretsInterval = Duration.seconds(5)
}
