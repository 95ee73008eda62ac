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

    /// How long the server waits for this process in the middle of a transaction, or for a sign of
    /// a machine that is gone, before it ends the session and lets go of its locks.
    package var silenceMax: Duration = .seconds(10)

    /// The schema that names without one belong to.
    package var schema = "public"

    /// Whether the session itself holds something: a lock until its end, a channel listened to.
    ///
    /// The server then ends it after `silenceMax` outside of a transaction too, and the connection
    /// shows it now and then that this process lives.
    package var isHeld = false

    /// The server's parameters for this session, over those of `SessionSettings`.
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
