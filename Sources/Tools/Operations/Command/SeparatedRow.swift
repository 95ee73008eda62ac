/// The fields of a row of separated values (RFC 4180).
enum SeparatedRow {
    /// Splits a row; a field without quotation marks loses the blanks at its ends.
    ///
    /// Bytes are compared, as for Swift a comma followed by a combining accent is one character.
    ///
    /// Returns `nil` for a row that ends within a quoted field, which may go on in the next line.
    static func fields(of row: [UInt8], by separator: UInt8 = UInt8(ascii: ",")) throws(LinkLine.Fault) -> [String]? {
        var fields: [String] = []
        var rest = row[...]
        while true {
            if rest.first == quotationMark {
                guard let field = quoted(&rest) else { return nil }
                fields.append(field)
            } else {
                let end = rest.firstIndex(of: separator) ?? rest.endIndex
                fields.append(String(decoding: rest[..<end], as: UTF8.self).trimmingBlanks)
                rest = rest[end...]
            }
            guard let next = rest.popFirst() else { return fields }
            guard next == separator else { throw LinkLine.Fault(expected: "a separator after a quoted field") }
        }
    }

    private static let quotationMark = UInt8(ascii: "\"")

    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> String? {
        var field: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst() {
            if byte == quotationMark {
                guard rest.first == quotationMark else { return String(decoding: field, as: UTF8.self) }
                rest.removeFirst()
            }
            field.append(byte)
        }
        return nil
    }
}

extension String {
    var trimmingBlanks: String {
        let blanks: Set<Unicode.Scalar> = [" ", "\t", "\r"]
        let start = unicodeScalars.drop { blanks.contains($0) }
        let end = start.reversed().drop { blanks.contains($0) }.startIndex.base
        return String(start[..<end])
    }
}
