/// libpq's text about a failed connection, taken apart.
///
/// In the verbose form it reads `connection to server at "h" (1.2.3.4), port 5432 failed: FATAL:
/// 28P01: password authentication failed for user "u"`, then lines of detail, which are dropped.
struct ConnectionFailure: Equatable {
    let message: String
    let sqlState: SQLState?

    private static let messageCharactersMax = 500

    init(_ text: String) {
        let firstLine = text.split(separator: "\n").first.map(String.init) ?? ""
        let state = Self.sqlState(in: firstLine)
        sqlState = state.map(SQLState.init)
        let shown = firstLine.isEmpty ? "the server cannot be reached" : firstLine
        message = String(shown.prefix(Self.messageCharactersMax))
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
