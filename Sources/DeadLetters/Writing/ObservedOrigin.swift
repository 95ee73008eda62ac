import AppStore
import Records

/// What a dead letter of a later stage takes from the observation that was given up.
struct ObservedOrigin {
    /// The body that the observation came from.
    let raw: RecordPosition?
    let identifiers: DeadLetterIdentifiers?

    /// Empty where the value is no observation, as for all that `verify-worker` reads.
    init(_ value: [UInt8]?) {
        guard let observation = try? Observation(decoding: value) else {
            raw = nil
            identifiers = nil
            return
        }
        raw = observation.source.map { source in
            RecordPosition(
                topic: source.topic,
                partition: source.partition,
                offset: source.offset
            )
        }
        identifiers = DeadLetterIdentifiers(observation)
    }
}
