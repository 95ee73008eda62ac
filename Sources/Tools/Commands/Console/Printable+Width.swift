import Settings

extension Printable {
    /// Returns the width of a text in columns of a terminal, by its scalars.
    ///
    /// Scalars of East Asian scripts (Unicode Standard Annex #11) and emoji take two columns,
    /// combining marks none.
    static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// Returns the text, or its beginning with an ellipsis if the text is wider than the limit.
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
        // The emoji variation selector makes its character wide; other marks have no width.
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
