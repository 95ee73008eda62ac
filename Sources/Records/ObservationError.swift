package import JSON

/// Why a record is no observation: a fault of the record, never of the infrastructure.
package enum ObservationError: Error, Hashable, Sendable {
    /// The record is a tombstone or empty: no stage writes such a record.
    case noValue
    /// The header `head` is missing, there twice, no number, or larger than the value.
    case headLength
    /// What lies before the payloads is no JSON object.
    case notJSON(JSONError)
    /// Of a version that this one does not read.
    case schemaVersion(Int64)
    /// The member at this path is missing or malformed.
    case member(String)
    /// The payloads do not lie where the head says.
    case payloads

    /// The version of an observation that a later program wrote: no fault of the record.
    package var newerVersion: Int64? {
        guard case .schemaVersion(let version) = self, version > Observation.schemaVersion
        else { return nil }
        return version
    }

    /// A sentence for auditors, without any of the record's content.
    package var detail: String {
        switch self {
        case .noValue: "no value"
        case .headLength: "the header head does not say where the head ends"
        case .notJSON(let error): "the head is not JSON: \(error.code) at byte \(error.offset)"
        case .schemaVersion(let version): "schema version \(version) is not known here"
        case .member(let path): "member \(path) is missing or malformed"
        case .payloads: "the payloads are not where the head says"
        }
    }
}
