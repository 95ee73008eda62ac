internal import AppStore
internal import JSON

/// Writes the members of a payload that are not nil, in the order of Apple's documentation.
struct FieldWriter {
    private var writer = JSONWriter(reserving: 1_024)
    private var overrides: [String: String]

    /// - Parameter overrides: raw JSON instead of a member's value, or as a further member.
    init(overrides: [String: String]) {
        self.overrides = overrides
        writer.beginObject()
    }

    mutating func add(_ key: String, _ value: String?) {
        add(key, isPresent: value != nil) { $0.string(value ?? "") }
    }

    mutating func add(_ key: String, _ value: Int64?) {
        add(key, isPresent: value != nil) { $0.int(value ?? 0) }
    }

    mutating func add(_ key: String, _ value: Bool?) {
        add(key, isPresent: value != nil) { $0.bool(value ?? false) }
    }

    mutating func add(_ key: String, _ values: [String]?) {
        add(key, isPresent: values != nil) { writer in
            writer.beginArray()
            for value in values ?? [] {
                writer.string(value)
            }
            writer.endArray()
        }
    }

    mutating func add(_ key: String, json: [UInt8]?) {
        add(key, isPresent: json != nil) { $0.raw(json ?? []) }
    }

    /// The object; overrides that replaced nothing come last.
    consuming func finish() -> [UInt8] {
        for (key, raw) in overrides.sorted(by: { $0.key < $1.key }) {
            writer.key(key)
            writer.raw(raw.utf8)
        }
        writer.endObject()
        return writer.bytes
    }

    private mutating func add(
        _ key: String,
        isPresent: Bool,
        _ write: (inout JSONWriter) -> Void
    ) {
        if let raw = overrides.removeValue(forKey: key) {
            writer.key(key)
            writer.raw(raw.utf8)
        } else if isPresent {
            writer.key(key)
            write(&writer)
        }
    }
}

/// Writes base64 as JWS and `x5c` need it.
package enum Base64Text {
    /// RFC 4648 §4, with padding.
    package static func standard(_ bytes: [UInt8]) -> [UInt8] {
        Base64.standard.encode(bytes)
    }

    /// RFC 4648 §5, without padding.
    package static func url(_ bytes: [UInt8]) -> [UInt8] {
        Base64.url.encode(bytes)
    }
}
