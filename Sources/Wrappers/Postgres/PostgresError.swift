import CLibPQ

/// The reason why PostgreSQL did not carry out a request.
///
/// Neither `message` nor `description` contains a parameter value. Only the server's primary message is kept, and not
/// even that if it quotes a value that the server could not read (class 22).
package struct PostgresError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable {
        case invalidConnectionString
        case connectionFailed
        case authenticationFailed
        /// A pooler is in front of the server, and is not known to be in session mode.
        case pooledByTransaction
        case connectionLost
        case connectionClosed
        /// A statement was not answered before its deadline.
        case deadlineExceeded
        /// All connections of the client are in use, and none was returned in time.
        case noConnectionFree
        case cancelled
        case server
        case unexpectedAnswer
    }

    package let code: Code
    package let message: String
    package let sqlState: SQLState?
    package let schema: String?
    package let table: String?
    package let column: String?
    package let constraint: String?

    package init(
        code: Code, message: String, sqlState: SQLState? = nil, schema: String? = nil, table: String? = nil,
        column: String? = nil, constraint: String? = nil
    ) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.schema = schema
        self.table = table
        self.column = column
        self.constraint = constraint
    }

    package var fault: PostgresFault {
        switch code {
        case .invalidConnectionString, .authenticationFailed, .pooledByTransaction: .operator
        case .server, .connectionFailed: sqlState.map(PostgresFault.init) ?? .infrastructure
        case .connectionLost, .connectionClosed, .deadlineExceeded, .noConnectionFree, .cancelled, .unexpectedAnswer:
            .infrastructure
        }
    }

    /// Whether the same call may succeed later, with or without an operator's help.
    package var isRetriable: Bool { fault != .record }

    package var isRecordFault: Bool { fault == .record }

    /// Whether the statement exceeded its time limit: a smaller batch of records may succeed.
    package var isTooSlow: Bool { code == .deadlineExceeded || sqlState == .queryCanceled }

    /// Whether a conflict with another transaction caused the error, so that the whole transaction may be run again.
    package var isContention: Bool {
        sqlState == .serializationFailure || sqlState == .deadlockDetected || sqlState == .lockNotAvailable
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        var text = "PostgreSQL: \(message) ("
        text += sqlState.map { "SQLSTATE \($0)" } ?? code.rawValue
        let places = [("schema", schema), ("table", table), ("column", column)]
        for case (let name, let place?) in places + [("constraint", constraint)] { text += ", \(name) \(place)" }
        return text + ")"
    }
}

/// The five-character code of a PostgreSQL error (its manual, appendix A).
package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    package let code: String

    package init(_ code: String) { self.code = code }

    /// The first two characters, which group the codes: `23` is the class of violated constraints.
    package var errorClass: Substring { code.prefix(2) }

    package var description: String { code }

    package static let uniqueViolation = SQLState("23505")
    package static let serializationFailure = SQLState("40001")
    package static let deadlockDetected = SQLState("40P01")
    package static let insufficientPrivilege = SQLState("42501")
    package static let undefinedTable = SQLState("42P01")
    package static let lockNotAvailable = SQLState("55P03")
    package static let queryCanceled = SQLState("57014")
    package static let programLimitExceeded = SQLState("54000")
    package static let readOnlyTransaction = SQLState("25006")
    static let featureNotSupported = SQLState("0A000")
    static let invalidStatementName = SQLState("26000")
    static let duplicateStatementName = SQLState("42P05")
}

/// The party at fault for an error, which decides how a worker reacts.
package enum PostgresFault: Hashable, Sendable {
    /// The server, the network or another transaction is at fault: the caller waits and retries.
    case infrastructure

    /// PostgreSQL will never accept a value of the record.
    case record

    /// A table or a permission is missing, or a password is wrong.
    ///
    /// No record is at fault, so the caller waits until an operator has acted.
    case `operator`

    /// Classifies a code; an unlisted code is a fault of the infrastructure: a wait is better than dead-lettering a
    /// good record.
    init(_ state: SQLState) {
        switch state.errorClass {
        case "22", "23": self = .record
        case "54": self = state == .programLimitExceeded ? .record : .operator
        case "0A", "28", "3D", "3F", "42": self = .operator
        default: self = .infrastructure
        }
    }
}

/// The fields of the server's error or notice that may be shown.
///
/// Detail, hint and context may quote a record's values, and are never read.
struct ErrorFields {
    let severity: String
    let sqlState: SQLState
    private let primary: String
    private let schema: String?
    private let table: String?
    private let column: String?
    private let constraint: String?

    /// Copies a field of the result, which the caller still owns.
    @unsafe init(_ result: OpaquePointer) {
        func field(_ code: UnicodeScalar) -> String? {
            unsafe PQresultErrorField(result, Int32(code.value)).map { text in unsafe String(cString: text) }
        }
        // The letters are the protocol's codes of error fields (manual, "Error and Notice Message Fields"); libpq's
        // PG_DIAG_ macros are the same characters.
        severity = field("V") ?? field("S") ?? ""
        sqlState = SQLState(field("C") ?? "")
        primary = field("M") ?? ""
        schema = field("s")
        table = field("t")
        column = field("c")
        constraint = field("n")
    }

    private static let messageCharactersMax = 500

    /// The message; for class 22 a fixed text, because data exceptions quote the value that they could not read.
    private var message: String {
        if sqlState.errorClass == "22" { return "a value is not acceptable (what the server says may quote it)" }
        return String(primary.prefix(Self.messageCharactersMax))
    }

    var notice: PostgresNotice { PostgresNotice(severity: severity, sqlState: sqlState, message: message) }

    func error(code: PostgresError.Code = .server) -> PostgresError {
        PostgresError(
            code: code, message: message, sqlState: sqlState, schema: schema, table: table, column: column,
            constraint: constraint)
    }
}
