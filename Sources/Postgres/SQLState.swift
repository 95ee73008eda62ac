/// The five-character code that PostgreSQL gives every error (its manual, appendix A).
package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    package let code: String

    package init(_ code: String) {
        self.code = code
    }

    /// The first two characters, which group the codes: `23` is every violated constraint.
    package var errorClass: Substring {
        code.prefix(2)
    }

    package var description: String {
        code
    }

    package static let uniqueViolation = SQLState("23505")
    package static let serializationFailure = SQLState("40001")
    package static let deadlockDetected = SQLState("40P01")
    package static let insufficientPrivilege = SQLState("42501")
    package static let undefinedTable = SQLState("42P01")
    package static let lockNotAvailable = SQLState("55P03")
    package static let queryCanceled = SQLState("57014")
    package static let adminShutdown = SQLState("57P01")
    package static let programLimitExceeded = SQLState("54000")
    static let readOnlyTransaction = SQLState("25006")
    static let featureNotSupported = SQLState("0A000")
    static let invalidStatementName = SQLState("26000")
}
