import Kafka

/// The making of a worker's clients to Kafka.
///
/// Each is made of the certificates and keys in the files at that moment. Files are replaced one
/// after the other, and between the two no client can be made.
extension WorkerLoop {
    /// The longest wait before a client is tried again.
    private static let retryDelayMax = Duration.seconds(2)

    /// Shows properties of the consumer that no client can be made of; those of the producer the
    /// loop's own has shown.
    ///
    /// At the start they are somebody's mistake and end the worker. Later on they have been good
    /// before.
    func checkConsumerProperties() throws(KafkaError) {
        let consumer = try KafkaConsumer(configuration: configuration.consumerProperties)
        Task { [configuration] in await consumer.close(deadline: configuration.closeDeadline) }
    }

    /// Makes a client, again and again while none can be made; nil when the worker is to stop
    /// before, or the task is cancelled.
    func madeClient<Client>(_ make: () throws(KafkaError) -> Client) async -> Client? {
        var backoff = configuration.backoff
        while !mustStop, !Task.isCancelled {
            health.progressed()
            do {
                return try make()
            } catch {
                faults.failed(.connection, error)
                try? await Task.sleep(for: min(backoff.nextDelay(), Self.retryDelayMax))
            }
        }
        return nil
    }

    /// Recreates the producer; nothing may be in flight.
    func renewDeliverer() async {
        let made = await madeClient { () throws(KafkaError) in
            try deliverer.madeAnew()
        }
        if let made { await deliverer.replace(by: made) }
    }
}
