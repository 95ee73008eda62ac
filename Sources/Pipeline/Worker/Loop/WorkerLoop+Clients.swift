import Kafka

/// The creation of a worker's Kafka clients.
///
/// Each client is created with the current certificates and keys in the files. Files are replaced one after the other;
/// between two replacements no client can be created.
extension WorkerLoop {
    /// Maximum wait before another attempt.
    private static let retryDelayMax = Duration.seconds(2)

    /// Throws if no consumer can be created with the configured properties.
    ///
    /// The creation of the loop's own producer has already checked the producer's properties. Invalid properties at
    /// the start are an operator's mistake and end the worker. After the start, the same properties have worked
    /// before.
    func checkConsumerProperties() throws(KafkaError) {
        let consumer = try KafkaConsumer(configuration: configuration.consumerProperties)
        Task { [configuration] in await consumer.close(deadline: configuration.closeDeadline) }
    }

    /// Creates a client, with retries until an attempt succeeds; success does not mean that a broker has answered.
    ///
    /// - Returns: the client; `nil` if the worker must stop first, or the task is cancelled.
    func makingClient<Client>(_ make: () throws -> Client) async -> Client? {
        await repeating {
            do { return try make() } catch {
                faults.failed(.connection, error)
                throw error
            }
        }
    }

    /// Repeats an attempt until it succeeds.
    ///
    /// `nil` if the worker must stop first, or the task is cancelled.
    func repeating<Result>(_ attempt: () async throws -> Result) async -> Result? {
        var backoff = configuration.backoff
        while !mustStop, !Task.isCancelled {
            health.progressed()
            do { return try await attempt() } catch {
                try? await Task.sleep(for: min(backoff.nextDelay(), Self.retryDelayMax))
            }
        }
        return nil
    }

    /// Recreates the producer; no record may be in flight.
    func renewDeliverer() async {
        guard let made = await makingClient({ try deliverer.madeAnew() }) else { return }
        await deliverer.replace(by: made)
    }
}
