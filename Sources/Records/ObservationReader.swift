import AppStore
import JSON
import OpenSSL

/// Typed access to the members of an observation, or of one object in it; a fault names the member.
struct ObservationReader {
    let value: JSONValue
    /// The member of the observation that this object is; nil for the observation itself.
    let name: StaticString?

    init(_ value: JSONValue, name: StaticString? = nil) {
        self.value = value
        self.name = name
    }

    func object(_ name: StaticString) throws(ObservationError) -> ObservationReader {
        guard let object = try optionalObject(name) else { throw missing(name) }
        return object
    }

    /// Nil when the member is absent; null is another type.
    func optionalObject(_ name: StaticString) throws(ObservationError) -> ObservationReader? {
        guard let member = value[name] else { return nil }
        guard member.kind == .object else { throw missing(name) }
        return ObservationReader(member, name: name)
    }

    func string(_ name: StaticString) throws(ObservationError) -> String {
        guard let text = value[name]?.string else { throw missing(name) }
        return text
    }

    /// Nil when the member is absent or null.
    func optionalString(_ name: StaticString) throws(ObservationError) -> String? {
        guard let member = value[name], !member.isNull else { return nil }
        guard let text = member.string else { throw missing(name) }
        return text
    }

    func int(_ name: StaticString) throws(ObservationError) -> Int64 {
        guard let number = value[name]?.int64 else { throw missing(name) }
        return number
    }

    func timestamp(_ name: StaticString) throws(ObservationError) -> Timestamp {
        Timestamp(milliseconds: try int(name))
    }

    func optionalTimestamp(_ name: StaticString) throws(ObservationError) -> Timestamp? {
        guard let member = value[name], !member.isNull else { return nil }
        return try timestamp(name)
    }

    func digest(_ name: StaticString) throws(ObservationError) -> SHA256Digest {
        guard let digest = SHA256Digest(hex: try string(name)) else { throw missing(name) }
        return digest
    }

    func missing(_ member: StaticString) -> ObservationError {
        .member(name.map { "\($0).\(member)" } ?? "\(member)")
    }
}
