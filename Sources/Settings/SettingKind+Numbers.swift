import JSON

extension SettingKind where Value == Int {
    /// An integer, as a JSON number or as digits.
    package static func int(_ bounds: ClosedRange<Int>) -> SettingKind {
        SettingKind(
            type: "integer",
            expected: "an integer from \(bounds.lowerBound) to \(bounds.upperBound)",
            read: { input throws(SettingMismatch) in
                let value: Int? =
                    switch input {
                    case .json(let json) where json.kind == .number: json.int64.map(Int.init)
                    case .json, .text: input.string.flatMap(Quantity.integer)
                    }
                guard let value, bounds.contains(value) else { throw .whole }
                return value
            },
            render: { String($0) }
        )
    }

    /// A size in bytes, written with its unit: `512KiB`, `1MiB`.
    package static func bytes(_ bounds: ClosedRange<Int>) -> SettingKind {
        SettingKind(
            type: "size",
            expected: "a size from \(Quantity.bytes(bounds.lowerBound)) to "
                + "\(Quantity.bytes(bounds.upperBound)), with its unit: B, KiB, MiB or GiB",
            read: { input throws(SettingMismatch) in
                guard let value = input.string.flatMap(Quantity.bytes(parsing:)),
                    bounds.contains(value)
                else { throw .whole }
                return value
            },
            render: { Quantity.bytes($0) }
        )
    }
}

extension SettingKind where Value == Duration {
    /// A length of time, written with its unit: `500ms`, `2s`.
    package static func duration(_ bounds: ClosedRange<Duration>) -> SettingKind {
        SettingKind(
            type: "duration",
            expected: "a duration from \(Quantity.duration(bounds.lowerBound)) to "
                + "\(Quantity.duration(bounds.upperBound)), with its unit: ms, s, m, h or d",
            read: { input throws(SettingMismatch) in
                guard let value = input.string.flatMap(Quantity.duration(parsing:)),
                    bounds.contains(value)
                else { throw .whole }
                return value
            },
            render: { Quantity.duration($0) }
        )
    }
}

extension SettingKind where Value == Bool {
    package static var bool: SettingKind {
        SettingKind(
            type: "boolean",
            expected: "true or false",
            read: { input throws(SettingMismatch) in
                if case .json(let json) = input, let value = json.bool {
                    return value
                }
                switch input.string {
                case "true": return true
                case "false": return false
                default: throw .whole
                }
            },
            render: { $0 ? "true" : "false" }
        )
    }
}
