package import OpenSSL

/// What is the same for all dead letters of one worker.
package struct DeadLetterContext: Sendable {
    /// The cluster's ID as its brokers say it; the bootstrap servers where they do not.
    package let cluster: String

    /// The dead-letter topic, its prefix included.
    package let topic: String

    /// The stage, as in `dlq.stage`.
    package let stage: String

    /// Whether the stage reads observations, and not bodies that anybody may have posted.
    package let readsObservations: Bool

    /// The name of this worker among its like.
    package let worker: String
    package let verifierVersion: String

    /// Of the settings that decide what is refused.
    package let configuration: SHA256Digest

    /// What the topic takes, with room for the record's frame.
    package let recordBytesMax: Int

    /// 3 MiB less the frame: what `pipeline topics` sets for the dead-letter topic.
    package static let recordBytesMaxDefault = (3 << 20) - (16 << 10)

    package init(
        cluster: String,
        topic: String,
        stage: String,
        readsObservations: Bool,
        worker: String,
        verifierVersion: String,
        configuration: SHA256Digest,
        recordBytesMax: Int = recordBytesMaxDefault
    ) {
        self.cluster = cluster
        self.topic = topic
        self.stage = stage
        self.readsObservations = readsObservations
        self.worker = worker
        self.verifierVersion = verifierVersion
        self.configuration = configuration
        self.recordBytesMax = recordBytesMax
    }
}
