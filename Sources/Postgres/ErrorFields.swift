import CLibPQ

/// The fields of the server's error or notice that may be shown; detail, hint and context may quote
/// a record's values and are never read.
struct ErrorFields {
    let severity: String
    let sqlState: SQLState
    private let primary: String
    private let schema: String?
    private let table: String?
    private let column: String?
    private let constraint: String?

    /// Copies the fields; the result stays the caller's.
    @unsafe
    init(_ result: OpaquePointer) {
        func field(_ code: UnicodeScalar) -> String? {
            unsafe PQresultErrorField(result, Int32(code.value)).map { text in
                unsafe String(cString: text)
            }
        }
        // The letters are those of the protocol's error fields (manual, "Error and Notice Message
        // Fields"); libpq's PG_DIAG_ macros are the same characters.
        severity = field("V") ?? field("S") ?? ""
        sqlState = SQLState(field("C") ?? "")
        primary = field("M") ?? ""
        schema = field("s")
        table = field("t")
        column = field("c")
        constraint = field("n")
    }

    private static let messageCharactersMax = 500

    /// Data exceptions quote what they could not read, so of class 22 only the fact is kept.
    private var message: String {
        if sqlState.errorClass == "22" {
            return "a value is not acceptable (what the server says may quote it)"
        }
        return String(primary.prefix(Self.messageCharactersMax))
    }

    var notice: PostgresNotice {
        PostgresNotice(severity: severity, sqlState: sqlState, message: message)
    }

    func error(code: PostgresError.Code = .server) -> PostgresError {
        PostgresError(
            code: code,
            message: message,
            sqlState: sqlState,
            schema: schema,
            table: table,
            column: column,
            constraint: constraint
        )
    }
}
