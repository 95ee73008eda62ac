extension JSONContent {
    /// The members of an object; none of any other value.
    package var members: [(name: String, value: JSONContent)] {
        if case .object(let members) = self { members } else { [] }
    }

    /// The elements of an array; none of any other value.
    package var elements: [JSONContent] { if case .array(let elements) = self { elements } else { [] } }

    /// The text of a string; nil of any other value.
    package var text: String? {
        switch self {
        case .string(let text), .time(let text, _): text
        default: nil
        }
    }

    package var isNull: Bool { if case .null = self { true } else { false } }

    /// A member's value; null without one.
    package subscript(_ name: String) -> JSONContent { members.first { $0.name == name }?.value ?? .null }

    /// The object with these members alone, in their order; null for absent ones.
    package func only(_ names: String...) -> JSONContent { .object(names.map { ($0, self[$0]) }) }

    /// The object without these members.
    package func without(_ names: String...) -> JSONContent { .object(members.filter { !names.contains($0.name) }) }

    /// The object with another value of a member, in the same place.
    package func replacing(_ name: String, by value: some JSONRepresentable) -> JSONContent {
        .object(members.map { $0.name == name ? (name, value.json) : $0 })
    }
}
