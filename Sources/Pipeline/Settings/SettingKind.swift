import JSON
import Platform

/// The type of a setting, with the parsing, formatting and description of its values.
package struct SettingKind<Value: Sendable>: Sendable {
    /// The name for tables, such as `integer` or `duration`.
    package let type: String

    /// The bounds and an example, as text that completes "expected …".
    package let expected: String

    package let read: @Sendable (SettingInput) throws(SettingMismatch) -> Value

    /// Returns the canonical text of a value, which parses to the same value.
    let render: @Sendable (Value) -> String

    package init(
        type: String, expected: String, read: @escaping @Sendable (SettingInput) throws(SettingMismatch) -> Value,
        render: @escaping @Sendable (Value) -> String
    ) {
        self.type = type
        self.expected = expected
        self.read = read
        self.render = render
    }

    /// The same kind for an optional setting.
    var orNothing: SettingKind<Value?> {
        SettingKind<Value?>(
            type: type, expected: expected, read: { [read] input throws(SettingMismatch) in try read(input) },
            render: { [render] value in value.map(render) ?? "" })
    }
}

extension SettingKind where Value == Int {
    /// An integer, as a JSON number or as digits.
    package static func int(_ bounds: ClosedRange<Int>) -> SettingKind {
        SettingKind(
            type: "integer", expected: "an integer from \(bounds.lowerBound) to \(bounds.upperBound)",
            read: { input throws(SettingMismatch) in
                let value: Int? =
                    switch input {
                    case .json(let json) where json.kind == .number: json.int64.map(Int.init)
                    case .json, .text: input.string.flatMap(UnitText.integer)
                    }
                guard let value, bounds.contains(value) else { throw .whole }
                return value
            }, render: { String($0) })
    }

    /// A size in bytes, written with its unit: `512KiB`, `1MiB`.
    package static func bytes(_ bounds: ClosedRange<Int>) -> SettingKind {
        measured(
            "size", bounds, units: "B, KiB, MiB or GiB", parsing: UnitText.bytes(parsing:),
            render: { UnitText.bytes($0) })
    }
}

extension SettingKind where Value == Duration {
    /// A length of time, written with its unit: `500ms`, `2s`.
    package static func duration(_ bounds: ClosedRange<Duration>) -> SettingKind {
        measured(
            "duration", bounds, units: "ms, s, m, h or d", parsing: UnitText.duration(parsing:),
            render: { UnitText.duration($0) })
    }
}

extension SettingKind where Value: Comparable {
    /// The kind of a number with a unit.
    private static func measured(
        _ type: String, _ bounds: ClosedRange<Value>, units: String,
        parsing parse: @escaping @Sendable (String) -> Value?, render: @escaping @Sendable (Value) -> String
    ) -> SettingKind {
        SettingKind(
            type: type,
            expected: "a \(type) from \(render(bounds.lowerBound)) to "
                + "\(render(bounds.upperBound)), with its unit: \(units)",
            read: { input throws(SettingMismatch) in
                guard let value = input.string.flatMap(parse), bounds.contains(value) else { throw .whole }
                return value
            }, render: render)
    }
}

extension SettingKind where Value == Bool {
    package static var bool: SettingKind {
        SettingKind(
            type: "boolean", expected: "true or false",
            read: { input throws(SettingMismatch) in
                if case .json(let json) = input, let value = json.bool { return value }
                switch input.string {
                case "true": return true
                case "false": return false
                default: throw .whole
                }
            }, render: { $0 ? "true" : "false" })
    }
}

extension SettingKind where Value == String {
    /// Text without control characters; its length is counted in UTF-8 bytes.
    package static func string(bytes: ClosedRange<Int> = 1...4096) -> SettingKind {
        SettingKind(
            type: "text",
            expected: bytes.lowerBound == 0
                ? "text of at most \(bytes.upperBound) bytes"
                : "text of \(bytes.lowerBound) to \(bytes.upperBound) bytes",
            read: { input throws(SettingMismatch) in
                guard let text = input.string, bytes.contains(text.utf8.count),
                    text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
                else { throw .whole }
                return text
            }, render: { $0 })
    }

    /// The path of a file that this process can read.
    package static var file: SettingKind {
        SettingKind(
            type: "file", expected: "the path of a file that this process can read",
            read: { input throws(SettingMismatch) in
                guard let path = input.string, FileSystem.isReadableFile(path) else { throw .whole }
                return path
            }, render: { $0 })
    }
}

extension SettingKind {
    /// A list of elements, comma-separated or as a JSON array of texts.
    package static func list<Element: CustomStringConvertible>(
        _ type: String, expected: String, countMin: Int = 0, of element: @escaping @Sendable (String) -> Element?
    ) -> SettingKind where Value == [Element] {
        SettingKind(
            type: type, expected: expected,
            read: { input throws(SettingMismatch) in
                var texts: [String]?
                if case .json(let json) = input, json.kind == .array {
                    texts = json.elements.map { $0.string ?? "" }
                } else {
                    texts = input.string?.split(separator: ",", omittingEmptySubsequences: false).map {
                        $0.filter { $0 != " " }
                    }
                }
                guard let elements = texts?.compactMap(element), elements.count == texts?.count,
                    elements.count >= countMin
                else { throw .whole }
                return elements
            }, render: { $0.map(\.description).joined(separator: ",") })
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// A raw value of an enumeration, in exactly its spelling.
    package static var choice: SettingKind {
        let choices = Value.allCases.map(\.rawValue)
        return SettingKind(
            type: "choice", expected: "one of \(choices.joined(separator: ", "))",
            read: { input throws(SettingMismatch) in
                guard let value = input.string.flatMap(Value.init(rawValue:)) else { throw .whole }
                return value
            }, render: { $0.rawValue })
    }
}

extension SettingKind where Value == [AppSetting] {
    /// The apps, as a JSON array in the file or as the text of such an array in the environment.
    package static var apps: SettingKind {
        SettingKind(
            type: "list of apps",
            expected: "a JSON array of one or more "
                + #"{"bundle_id": "…", "environment": "Production", "app_apple_id": 1}, with "#
                + #"optional "roots": [files], "test_root_in_production": true, "api_issuer_id", "#
                + #""api_key_id" and "api_key_file""#,
            read: { input throws(SettingMismatch) in
                let list: JSONValue
                switch input {
                case .json(let value): list = value
                case .text(let text):
                    guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { throw .whole }
                    list = document.root
                }
                guard list.kind == .array, list.count > 0 else { throw .whole }
                var reader = AppSettingsReader()
                return try reader.read(list)
            }, render: { String(decoding: $0.map(json).json.bytes, as: UTF8.self) })
    }

    private static func json(_ replies: RefundReplies) -> JSONContent {
        ["consented": replies.consented.rawValue, "preference": replies.preference]
    }

    /// Returns an app as JSON, without absent members.
    private static func json(_ app: AppSetting) -> JSONContent {
        let members: [(AppMember, any JSONRepresentable)] = [
            (.bundleID, app.bundleID), (.environment, app.environment), (.appAppleID, app.appAppleID),
            (.roots, app.rootFiles.isEmpty ? nil : app.rootFiles),
            (.isTestRootInProduction, app.isTestRootInProduction ? true : nil), (.issuerID, app.api?.issuerID),
            (.keyID, app.api?.keyID), (.keyFile, app.api?.keyFile),
            (.setsAccountTokens, app.setsAccountTokens ? true : nil),
            (.refundReplies, app.refundReplies == RefundReplies() ? nil : json(app.refundReplies)),
        ]
        return .object(
            members.compactMap { member, value in
                if case .null = value.json { nil } else { (member.rawValue, value.json) }
            })
    }
}

/// An error for an input that is not a value of its kind, with one entry for each fault.
package struct SettingMismatch: Error, Equatable, Sendable {
    package struct Fault: Equatable, Sendable {
        /// The path inside the value, such as `[0].environment`; empty for the whole value.
        package let path: String
        /// The fault and the expected form; never the value itself.
        package let message: String

        package init(path: String = "", message: String) {
            self.path = path
            self.message = message
        }
    }

    package let faults: [Fault]

    package init(_ faults: [Fault]) { self.faults = faults }

    /// The mismatch of a whole value.
    static let whole = SettingMismatch([])
}
