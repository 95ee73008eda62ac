package import Postgres
package import Settings

/// The connection settings for PostgreSQL, the same for every worker and tool.
package enum DatabaseSettings {
    package static let url = Setting(
        "database.url", .string(), isSecret: true,
        "The database, as postgresql://user:password@host:port/database; TLS by libpq's own "
            + "parameters: ?sslmode=verify-full&sslrootcert=FILE.")
    package static let password = Setting<String?>.optional(
        "database.password", .string(bytes: 1...1000), isSecret: true,
        "The database user's password, in the place of one in database.url.")
    package static let connectionsMax = Setting(
        "database.connections_max", .int(1...100), default: 4,
        "Maximum connections in the pool; workers with an outbox open one more.")
    package static let connectDeadline = Setting(
        "database.connect_deadline", .duration(.milliseconds(100)...(.seconds(300))), default: .seconds(10),
        "Maximum wait for a connection; then the call fails and is retried.")
    package static let statementDeadline = Setting(
        "database.statement_deadline", .duration(.milliseconds(100)...(.seconds(3600))), default: .seconds(30),
        "Statement timeout; a cancelled statement is retried.")

    package static let schema = Setting(
        "database.schema", .string(bytes: 1...63), default: "public",
        "The schema of the pipeline's tables; every session sets its search_path to it.")

    package static let declarations = [
        url.declaration, password.declaration, schema.declaration, connectionsMax.declaration,
        connectDeadline.declaration, statementDeadline.declaration,
    ]

    /// The settings of Kafka and the database, with the command-line options that override them.
    package static let overrides = KafkaSettings.overrides + [("postgres", url.declaration)]

    /// - Parameter applicationName: the name of the program in `pg_stat_activity`.
    package static func options(_ values: SettingsValues, applicationName: String) -> PostgresOptions {
        var options = PostgresOptions(connectionString: values[url], applicationName: applicationName)
        options.password = values[password]
        let newestURL = values.newest(url.declaration)
        let newestPassword = values.newest(password.declaration)
        options.newestLogin = {
            let password = newestPassword()
            return PostgresLogin(connectionString: newestURL(), password: password.isEmpty ? nil : password)
        }
        options.schema = values[schema]
        options.connectDeadline = values[connectDeadline]
        options.statementDeadline = values[statementDeadline]
        return options
    }

    /// Returns the client of a worker, or of a tool that works like one; it connects on first use.
    ///
    /// - Parameters:
    ///   - sessionTimeout: the time after which the consumer group replaces a silent worker, which
    ///     must then hold no locks; `nil` for a tool.
    ///   - waitHandler: see `PostgresOptions.waitHandler`.
    package static func client(
        _ values: SettingsValues, applicationName: String, sessionTimeout: Duration? = nil,
        waitHandler: @escaping @Sendable (_ hasBegun: Bool) -> Void = { _ in }
    ) -> PostgresClient {
        var options = options(values, applicationName: applicationName)
        options.sessionSettings = pointLookups
        options.waitHandler = waitHandler
        if let sessionTimeout { options.silenceMax = silenceMax(sessionTimeout: sessionTimeout) }
        return PostgresClient(options, connectionsMax: values[connectionsMax])
    }

    /// Longest idle time of a worker in a transaction: two thirds of its group's session timeout,
    /// at least 2 s and at most 15 s.
    ///
    /// The upper bound limits how long other transactions wait for the same rows. The lower bound
    /// tolerates a busy machine.
    package static func silenceMax(sessionTimeout: Duration) -> Duration {
        max(.seconds(2), min(sessionTimeout * 2 / 3, .seconds(15)))
    }

    /// The planner's settings for sessions that only use index look-ups.
    ///
    /// Otherwise a plan made while a table was nearly empty would scan the whole table for each
    /// requested row, until the server gathers statistics again. If a sequential scan is the only
    /// option, the planner adds a cost of 10,000,000,000, which hides all other differences between
    /// plans. So every statement of a worker needs an index; a test of the plans enforces this.
    package static let pointLookups = ["enable_seqscan": "off"]
}
