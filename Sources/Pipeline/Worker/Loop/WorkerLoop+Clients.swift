import Kafka

/// The making of a worker's clients to Kafka.
///
/// Each is made of the certificates and keys in the files at that moment. Files are replaced one
/// after the other, and between the two no client can be made.
extension WorkerLoop {
    /// The longest wait before another attempt.
    private static let retryDelayMax = Duration.seconds(2)

    /// Throws if no consumer can be made of the configured properties.
    ///
    /// The loop's own producer has already shown this for the producer's properties. Unusable
    /// properties at the start are somebody's mistake and end the worker. Later on, the same
    /// properties have worked before.
    func checkConsumerProperties() throws(KafkaError) {
        let consumer = try KafkaConsumer(configuration: configuration.consumerProperties)
        Task { [configuration] in await consumer.close(deadline: configuration.closeDeadline) }
    }

    /// Makes a client, repeating the attempt until it succeeds; no broker has answered by then.
    ///
    /// - Returns: nil when the worker is to stop before, or the task is cancelled.
    func makingClient<Client>(_ make: () throws -> Client) async -> Client? {
        await repeating {
            do { return try make() } catch {
                faults.failed(.connection, error)
                throw error
            }
        }
    }

    /// Repeats an attempt until it succeeds; nil when the worker is to stop before, or the task is
    /// cancelled.
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

    /// Recreates the producer; nothing may be in flight.
    func renewDeliverer() async {
        guard let made = await makingClient({ try deliverer.madeAnew() }) else { return }
        await deliverer.replace(by: made)
    }
}
