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

    /// The settings of Kafka and the database with the options that stand for them.
    package static let overrides = KafkaSettings.overrides + [("postgres", url.declaration)]

    /// - Parameter applicationName: the program's name in `pg_stat_activity`.
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

    /// The client of a worker or of a tool that works like one; it connects on first use.
    ///
    /// - Parameters:
    ///   - sessionTimeout: the time after which the worker's group considers it dead and replaces
    ///     it, so that it must hold no locks any more; nil for a tool.
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

    /// Longest idle time of a worker in a transaction: two thirds of its group's session timeout, within bounds.
    ///
    /// The upper bound limits the wait of others for the same rows; the lower one keeps a busy
    /// machine from being taken for a stopped one.
    package static func silenceMax(sessionTimeout: Duration) -> Duration {
        max(.seconds(2), min(sessionTimeout * 2 / 3, .seconds(15)))
    }

    /// The planner's settings for sessions that only ever look up by index.
    ///
    /// A plan made while a table was nearly empty would otherwise read it whole for each requested
    /// row, until the server happens to gather statistics again. If a sequential scan is the only
    /// option, the planner adds a cost of 10,000,000,000, which hides all other differences between
    /// plans. Every statement of a worker therefore needs an index, which a test of the plans
    /// enforces.
    package static let pointLookups = ["enable_seqscan": "off"]
}
