/// A NOTICE or WARNING of the server; its detail, which may quote values, is left out.
package struct PostgresNotice: Hashable, Sendable {
    package let severity: String
    package let sqlState: SQLState
    package let message: String
}
