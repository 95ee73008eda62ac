/// Why PostgreSQL did not do what it was asked.
///
/// Neither `message` nor `description` holds a parameter value: of what the server says only the
/// primary message is kept, and not even that where it quotes what it could not read (class 22).
package struct PostgresError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable {
        case invalidConnectionString
        case connectionFailed
        case authenticationFailed
        case connectionLost
        case connectionClosed
        /// A statement was not answered in time.
        case deadlineExceeded
        /// All connections of the client are lent, and none came back in time.
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
        code: Code,
        message: String,
        sqlState: SQLState? = nil,
        schema: String? = nil,
        table: String? = nil,
        column: String? = nil,
        constraint: String? = nil
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
        case .invalidConnectionString, .authenticationFailed:
            .operator
        case .server, .connectionFailed:
            sqlState.map(PostgresFault.init) ?? .infrastructure
        case .connectionLost, .connectionClosed, .deadlineExceeded, .noConnectionFree, .cancelled,
            .unexpectedAnswer:
            .infrastructure
        }
    }

    /// True when the same call may succeed later, with or without somebody's help.
    package var isRetriable: Bool {
        fault != .record
    }

    package var isRecordFault: Bool {
        fault == .record
    }

    /// True when the statement took longer than it may: fewer records may fit.
    package var isTooSlow: Bool {
        code == .deadlineExceeded || sqlState == .queryCanceled
    }

    /// True when another transaction was in the way and the whole transaction may be run again.
    package var isContention: Bool {
        sqlState == .serializationFailure || sqlState == .deadlockDetected
            || sqlState == .lockNotAvailable
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        var text = "PostgreSQL: \(message) ("
        text += sqlState.map { "SQLSTATE \($0)" } ?? code.rawValue
        let places = [("schema", schema), ("table", table), ("column", column)]
        for case (let name, let place?) in places + [("constraint", constraint)] {
            text += ", \(name) \(place)"
        }
        return text + ")"
    }
}
