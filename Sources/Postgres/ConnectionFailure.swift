/// libpq's text about a failed connection, taken apart.
///
/// In the verbose form it reads `connection to server at "h" (1.2.3.4), port 5432 failed: FATAL:
/// 28P01: password authentication failed for user "u"`, then lines of detail, which are dropped.
struct ConnectionFailure: Equatable {
    let message: String
    let sqlState: SQLState?

    private static let messageCharactersMax = 500

    /// - Parameter shown: what may be quoted; in the place of anything else in quotation marks
    ///   stands `…`.
    init(_ text: String, showing shown: Set<String>) {
        let firstLine = text.split(separator: "\n").first.map(String.init) ?? ""
        let state = Self.sqlState(in: firstLine)
        sqlState = state.map(SQLState.init)
        message =
            firstLine.isEmpty
            ? "the server cannot be reached"
            : String(Self.redacted(firstLine, shown).prefix(Self.messageCharactersMax))
    }

    private static func redacted(_ line: String, _ shown: Set<String>) -> String {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            let isQuoted = !index.isMultiple(of: 2)
            return isQuoted && !mayBeShown(part, shown) ? "…" : String(part)
        }
        .joined(separator: "\"")
    }

    /// A socket's path begins with the folder that is named as the host.
    private static func mayBeShown(_ part: Substring, _ shown: Set<String>) -> Bool {
        shown.contains(String(part))
            || shown.contains { $0.hasPrefix("/") && part.hasPrefix($0 + "/.s.PGSQL.") }
    }

    /// The five characters between a severity and the message, `:  28P01: `.
    private static func sqlState(in line: String) -> String? {
        for word in line.split(separator: " ") where word.count == 6 && word.last == ":" {
            let code = word.dropLast()
            let isCode = code.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            }
            if isCode, code.contains(where: \.isNumber) { return String(code) }
        }
        return nil
    }
}
