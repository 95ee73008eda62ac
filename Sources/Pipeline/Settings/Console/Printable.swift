/// Makes text of strangers fit for a terminal: none of its control characters reaches the terminal.
///
/// `Console` applies it to all that is written, so that no command can forget it; others call it
/// where a text of a stranger becomes a part of a line.
package enum Printable {
    /// Makes a line printable: scalars that could move the cursor, reorder text or hide themselves become `\u{…}`.
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

    /// Makes several lines printable: treats each as `line` does, and keeps their breaks.
    package static func lines(_ text: String) -> String {
        // Splits scalars, because "\r\n" is one character.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(
            separator: "\n")
    }

    /// Makes a JSON value printable on one line: escapes harmful scalars and keeps the meaning.
    ///
    /// - Parameter json: valid JSON, so that control characters stand between its tokens alone.
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
            // A filler is seen by nobody; a variation of the character before it is.
            return !scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isVariationSelector
        }
    }
}

extension Printable {
    /// The columns of a terminal that a text takes, by its scalars.
    ///
    /// The scalars of East Asian scripts and pictures take two (Unicode's annex 11, and emoji),
    /// marks that combine none.
    static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// The text, or its beginning with an ellipsis if it takes more columns.
    static func fitting(_ text: String, width limit: Int) -> String {
        guard width(text) > limit else { return text }
        var beginning = String.UnicodeScalarView()
        var taken = 1
        for scalar in text.unicodeScalars {
            taken += width(scalar)
            guard taken <= limit else { break }
            beginning.append(scalar)
        }
        return limit > 0 ? String(beginning) + "…" : ""
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        // The selector of a picture makes its character wide; other marks take no room.
        case .nonspacingMark, .enclosingMark: return scalar.value == 0xFE0F ? 1 : 0
        default:
            let isWide = scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
            return isWide ? 2 : 1
        }
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF,
        0x1F200...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]
}
