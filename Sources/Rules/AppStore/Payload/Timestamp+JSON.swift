package import JSON

extension Timestamp: JSONRepresentable {
    /// ISO 8601 in UTC, always with milliseconds; without them for people if they are zero.
    package var json: JSONContent {
        let text = description
        let isWhole = milliseconds.isMultiple(of: 1000)
        return .time(isWhole ? text.dropLast() + ".000Z" : text, shown: text)
    }
}

extension Identifier: JSONRepresentable { package var json: JSONContent { .string(text) } }
