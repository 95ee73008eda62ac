package import JSON

/// Why a record's value is no observation: a fault of the record, never of the infrastructure.
package enum ObservationError: Error, Hashable, Sendable {
    case notJSON(JSONError)
    /// The record is a tombstone or empty: no stage writes such a record.
    case noValue
    /// Of a version that this one does not read.
    case schemaVersion(Int64)
    /// The member at this path is missing or of another type.
    case member(String)

    /// The version of an observation that a later program wrote: no fault of the record.
    package var newerVersion: Int64? {
        guard case .schemaVersion(let version) = self, version > Observation.schemaVersion
        else { return nil }
        return version
    }

    /// A sentence for auditors, without any of the record's content.
    package var detail: String {
        switch self {
        case .notJSON(let error): "not JSON: \(error.code) at byte \(error.offset)"
        case .noValue: "no value"
        case .schemaVersion(let version): "schema version \(version) is not known here"
        case .member(let path): "member \(path) is missing or malformed"
        }
    }
}
