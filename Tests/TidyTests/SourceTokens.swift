/// The tokens of a file's code by line: words and single marks, without comments, and without texts
/// except for the code that is inserted into them.
///
/// A colon after a space, as in a ternary expression, is the token `" :"`.
struct SourceTokens {
    private(set) var lines: [[String]] = [[]]
    private let bytes: [UInt8]
    private var position = 0

    init(_ file: SourceTree.File) {
        bytes = Array(file.lines.joined(separator: "\n").utf8)
        scan(isInserted: false)
    }

    /// Scans to the end, or to the parenthesis that closes code in a text.
    private mutating func scan(isInserted: Bool) {
        var depth = 0
        while position < bytes.count {
            if starts(with: "//") {
                while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
            } else if skipText() {
                continue
            } else if let word = takeWord() {
                add(word)
            } else {
                let mark = Character(UnicodeScalar(bytes[position]))
                position += 1
                if mark == "(" { depth += 1 }
                if mark == ")" { depth -= 1 }
                if isInserted, depth < 0 { return }
                add(mark: mark)
            }
        }
    }

    private mutating func add(_ token: String) { lines[lines.count - 1].append(token) }

    private mutating func add(mark: Character) {
        switch mark {
        case "\n": lines.append([])
        case " ", "`": break
        case ":" where position > 1 && bytes[position - 2] == UInt8(ascii: " "): add(" :")
        default: add(String(mark))
        }
    }

    private mutating func takeWord() -> String? {
        let start = position
        while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
        return start < position ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private func starts(with text: StaticString) -> Bool {
        position + text.utf8CodeUnitCount <= bytes.count && text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    /// Skips a text that begins here; false if none does.
    private mutating func skipText() -> Bool {
        var hashes = 0
        while position + hashes < bytes.count, bytes[position + hashes] == UInt8(ascii: "#") { hashes += 1 }
        guard position + hashes < bytes.count, bytes[position + hashes] == UInt8(ascii: "\"") else { return false }
        position += hashes
        let quotes = starts(with: "\"\"\"") ? 3 : 1
        position += quotes
        let marks = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
        let end = [UInt8](repeating: UInt8(ascii: "\""), count: quotes) + marks
        let escape = [UInt8(ascii: "\\")] + marks
        while position < bytes.count, !bytes[position...].starts(with: end) {
            if bytes[position...].starts(with: escape) {
                position += escape.count + 1
                if bytes[position - 1] == UInt8(ascii: "(") { scan(isInserted: true) }
            } else {
                if bytes[position] == UInt8(ascii: "\n") { lines.append([]) }
                position += 1
            }
        }
        position += end.count
        return true
    }
}
