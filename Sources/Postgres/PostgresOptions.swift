/// Where the server is and how long anything may take.
package struct PostgresOptions: Sendable {
    /// A URL (`postgresql://user:password@host:5432/database`) or libpq's `key=value` form.
    ///
    /// Holds the password: never logged.
    package var connectionString: String

    /// Shown in the server's `pg_stat_activity`.
    package var applicationName: String

    package var connectDeadline: Duration = .seconds(10)

    /// How long one call may take when it names no deadline of its own.
    package var statementDeadline: Duration = .seconds(30)

    /// The server's parameters for this session (`SET`), over those of role and database.
    package var sessionSettings: [String: String] = [:]

    /// Prepared statements kept per connection.
    package var preparedStatementsMax = 256

    /// How long a client's connections keep the plans of their prepared statements.
    ///
    /// The server keeps a plan for as long as the connection lasts, also one that was made when a
    /// table was empty and any index as good as another; only new statistics of that table end it.
    package var planAgeMax: Duration = .seconds(10)

    package var noticeHandler: @Sendable (PostgresNotice) -> Void = { _ in }

    package init(connectionString: String, applicationName: String) {
        self.connectionString = connectionString
        self.applicationName = applicationName
    }
}
