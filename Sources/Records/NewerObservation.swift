package import Kafka

/// An observation that a later version of this program wrote, as one does while an upgrade is under
/// way: it is waited for until this worker is updated, and never dead-lettered.
package struct NewerObservation: Error, CustomStringConvertible {
    package let version: Int64

    package var description: String {
        "newer observation version, waiting: update this worker (the record has \(version),"
            + " this worker reads up to \(Observation.schemaVersion))"
    }
}

extension ConsumerRecord {
    /// Reads the observation that the record holds; a failure is the record's own.
    ///
    /// Throws `NewerObservation`, which is none.
    package func observation() throws(NewerObservation) -> Result<Observation, ObservationError> {
        do {
            return .success(try Observation(self))
        } catch {
            if let version = error.newerVersion { throw NewerObservation(version: version) }
            return .failure(error)
        }
    }
}
