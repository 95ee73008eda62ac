package import Kafka

extension KafkaHeader {
    /// Names the request that waits for a record's outcome.
    package static let correlationID = Array("correlation-id".utf8)
    /// W3C Trace Context.
    package static let traceparent = Array("traceparent".utf8)

    /// Whether the header goes with a record from `raw` to the end.
    package var isTravelling: Bool {
        nameBytes == Self.correlationID || nameBytes == Self.traceparent
    }
}
