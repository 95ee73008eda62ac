/// Makes what strangers wrote fit for a terminal: no control character of theirs reaches it.
package enum Printable {
    /// One line: what could move the cursor, reorder text or hide itself is written as `\u{…}`.
    package static func line(_ text: String, lengthMax: Int = .max) -> String {
        var printable = ""
        var length = 0
        for scalar in text.unicodeScalars {
            guard length < lengthMax else { return printable + "…" }
            length += 1
            if isHarmless(scalar) {
                printable.unicodeScalars.append(scalar)
            } else {
                printable += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return printable
    }

    /// The bytes as text, where they are UTF-8 and hold nothing but harmless characters and line
    /// breaks; nil otherwise.
    ///
    /// A carriage return counts only before a line feed or at the end: elsewhere it lets what
    /// follows be written over what stands there.
    package static func text(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self),
            // A character each: "\r\n" is one.
            (text + "\n").allSatisfy({
                ["\n", "\r\n", "\t"].contains($0) || $0.unicodeScalars.allSatisfy(isHarmless)
            })
        else { return nil }
        return text
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
            .unassigned:
            false
        default: true
        }
    }
}
