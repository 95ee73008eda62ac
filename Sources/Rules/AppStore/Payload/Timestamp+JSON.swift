package import JSON

extension Timestamp: JSONRepresentable {
    /// The instant as ISO 8601 in UTC, with milliseconds; the text for people omits zero milliseconds.
    package var json: JSONContent {
        let text = description
        let isWhole = milliseconds.isMultiple(of: 1000)
        return .time(isWhole ? text.dropLast() + ".000Z" : text, shown: text)
    }
}

extension Identifier: JSONRepresentable { package var json: JSONContent { .string(text) } }
