/// Prometheus' rules for names, as `promtool check metrics` knows them.
enum MetricName {
    static func isValid(_ name: String) -> Bool {
        let isWord = name.utf8.allSatisfy {
            ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: "_")
        }
        let first = name.utf8.first ?? UInt8(ascii: "0")
        return isWord && first >= 0x61 && !name.contains("__")
    }

    /// A label's value in the exposition, between its quotes.
    static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
