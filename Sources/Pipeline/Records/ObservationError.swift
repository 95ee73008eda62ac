package import JSON

/// The reason why a record is not an observation: a fault of the record, never of the infrastructure.
package enum ObservationError: Error, Hashable, Sendable {
    /// The record is a tombstone or empty: no stage writes such a record.
    case noValue
    /// The bytes before the payloads are not a JSON object.
    case notJSON(JSONError)
    /// The observation has a version that this reader does not support.
    case schemaVersion(Int64)
    /// The member at this path is missing or malformed.
    case member(String)
    /// The payloads are not after the head, or differ from the head's lengths.
    case payloads

    /// The version of an observation from a later program, which is not a fault of the record.
    package var newerVersion: Int64? {
        guard case .schemaVersion(let version) = self, Observation.newerVersions.contains(version) else { return nil }
        return version
    }

    /// A sentence for auditors, without anything from the record.
    package var detail: String {
        switch self {
        case .noValue: "no value"
        case .notJSON(let error): "the head is not JSON: \(error.code) at byte \(error.offset)"
        case .schemaVersion(let version): "schema version \(version) is not known here"
        case .member(let path): "member \(path) is missing or malformed"
        case .payloads: "the payloads are not behind the head as it says"
        }
    }
}

/// The error for an observation from a later version of this program, as during an upgrade: the worker waits until it
/// is updated, and never dead-letters the record.
package struct NewerObservation: Error, CustomStringConvertible {
    package let version: Int64

    package init(version: Int64) { self.version = version }

    package var description: String {
        "newer observation version, waiting: update this worker (the record has \(version),"
            + " this worker reads up to \(Observation.schemaVersion))"
    }
}
