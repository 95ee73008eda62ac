package import JSON
package import Settings

extension JSONContent {
    /// The text of an answer for support staff: one line for each member, `label: value`.
    ///
    /// Blanks replace the underscores of a name, and null members are omitted. Objects are indented
    /// blocks; in a list each begins with a dash. `Console` makes the lines printable.
    package var lines: [String] {
        switch self {
        case .object(let members): members.flatMap { $0.value.lines(of: $0.name) }
        case .array(let elements): elements.flatMap(\.item)
        default: [phrase ?? "none"]
        }
    }

    private func lines(of name: String) -> [String] {
        if case .null = self { return [] }
        let label = String(name.map { $0 == "_" ? " " : $0 })
        return phrase.map { ["\(label): \($0)"] } ?? ["\(label):"] + lines.map { "  \($0)" }
    }

    /// The lines of a list's element.
    private var item: [String] { lines.enumerated().map { index, line in index == 0 ? "- \(line)" : "  \(line)" } }

    /// The value in one line.
    ///
    /// `nil` if the value needs a block.
    private var phrase: String? {
        switch self {
        case .null: nil
        case .bool(let value): value ? "yes" : "no"
        // Digits are not grouped, because people copy numbers of grants and offsets into commands.
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let text), .time(let text, _): text.isEmpty ? "(empty)" : Self.toSecond(text)
        case .raw(let bytes): String(decoding: bytes, as: UTF8.self)
        case .object(let members): members.isEmpty ? "none" : Self.period(members)
        case .array(let elements): Self.list(elements)
        }
    }

    /// Removes the milliseconds of an instant such as `2026-03-02T12:00:00.123Z`; returns any other
    /// text unchanged.
    private static func toSecond(_ text: String) -> String {
        let shape = String(text.map { $0.isASCII && $0.isNumber ? "0" : $0 })
        return shape == "0000-00-00T00:00:00.000Z" ? text.dropLast(5) + "Z" : text
    }

    /// Returns the phrase for an object with only the members `start` and `end`.
    private static func period(_ members: [(name: String, value: JSONContent)]) -> String? {
        guard members.map(\.name) == ["start", "end"], let start = members[0].value.phrase else { return nil }
        return "from \(start) " + (members[1].value.phrase.map { "until \($0)" } ?? "without end")
    }

    private static func list(_ elements: [JSONContent]) -> String? {
        let phrases = elements.compactMap(\.phrase)
        guard phrases.count == elements.count else { return nil }
        return phrases.isEmpty ? "none" : phrases.joined(separator: ", ")
    }
}

extension Console {
    /// Prints an answer as JSON with `--json`, otherwise as lines of text.
    package func print(answer: JSONContent, _ arguments: CommandArguments) {
        arguments.isSet("json") ? print(json: answer) : answer.lines.forEach { print($0) }
    }
}
