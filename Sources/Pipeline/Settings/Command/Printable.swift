/// Makes untrusted text safe for a terminal: none of its control characters reaches the terminal.
///
/// `Console` applies it to all output, so that no command can omit it. Other code calls it where
/// untrusted text becomes part of a line.
package enum Printable {
    /// Makes a line printable: scalars that could move the cursor, reorder text or stay invisible
    /// become `\u{…}`.
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

    /// Makes several lines printable: treats each as `line` does, and keeps the line breaks.
    package static func lines(_ text: String) -> String {
        // Splits scalars, because "\r\n" is one character.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(
            separator: "\n")
    }

    /// Makes a JSON value printable on one line: escapes harmful scalars without changing the value.
    ///
    /// - Parameter json: valid JSON, in which control characters occur only between tokens.
    package static func json(_ json: String) -> String {
        var printable = ""
        printable.reserveCapacity(json.utf8.count)
        for scalar in json.unicodeScalars {
            if isHarmless(scalar) {
                printable.unicodeScalars.append(scalar)
            } else if scalar.value < 0x20 {
                printable.append(" ")
            } else {
                for unit in UTF16.encode(scalar).map({ Array($0) }) ?? [] {
                    let digits = String(unit, radix: 16)
                    printable += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return printable
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return false
        default:
            // Fillers are invisible; variation selectors change the visible character before them.
            return !scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isVariationSelector
        }
    }
}
