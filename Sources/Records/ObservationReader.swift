import AppStore
import Entitlements
package import Kafka

/// Reads the observations of a batch, one record after the other.
///
/// It keeps the texts that most observations of a batch share, so that each is made once.
package struct ObservationReader: ~Copyable {
    private var repeated = RepeatedTexts()

    package init() {}

    /// The result of `body` for the record's observation.
    ///
    /// A failure is the record's own, or means that a later version of this program wrote it
    /// (`ObservationError.newerVersion`).
    package mutating func read<Reading>(
        _ record: ConsumerRecord,
        _ body: (consuming Observation) -> Reading
    ) -> Result<Reading, ObservationError> {
        do {
            let observation = try Observation(value: record.value, repeated)
            repeated.keep(observation)
            return .success(body(observation))
        } catch {
            return .failure(error)
        }
    }
}

/// Texts of the previous observation, which the next one is likely to share; empty if absent.
struct RepeatedTexts: Sendable {
    private(set) var topic: Identifier = ""
    private(set) var productID: Identifier = ""

    mutating func keep(_ observation: borrowing Observation) {
        if let topic = observation.source?.topic { self.topic = Identifier(topic) }
        if let product = observation.facts.transaction?.identity.productID { productID = product }
    }
}
