package import JSON

/// What somebody wrote for a setting, before it is understood.
package enum SettingInput: Sendable {
    /// From the environment, or from a file that holds a secret.
    case text(String)
    /// From the JSON file.
    case json(JSONValue)

    /// The text of a JSON string or of the environment; nil for any other JSON type.
    var string: String? {
        switch self {
        case .text(let text): text
        case .json(let value): value.string
        }
    }

    /// What stands there, short enough to be quoted in a problem.
    var excerpt: String {
        let whole =
            switch self {
            case .text(let text): "\"\(text)\""
            case .json(let value): String(decoding: value.rawBytes, as: UTF8.self)
            }
        return whole.count <= Self.excerptLengthMax
            ? whole : "\(whole.prefix(Self.excerptLengthMax))…"
    }

    private static let excerptLengthMax = 60
}
