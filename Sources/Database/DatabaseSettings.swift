package import Postgres
package import Settings

/// How a program reaches PostgreSQL; the same settings for every worker and tool.
package enum DatabaseSettings {
    package static let url = Setting(
        "database.url",
        .string(),
        isSecret: true,
        "The database, as postgresql://user:password@host:port/database."
    )
    package static let connectionsMax = Setting(
        "database.connections_max",
        .int(1...100),
        default: 4,
        "Connections for one process's work at most; workers that write without a record in open "
            + "one more."
    )
    package static let connectDeadline = Setting(
        "database.connect_deadline",
        .duration(.milliseconds(100)...(.seconds(300))),
        default: .seconds(10),
        "How long a call waits for a connection before it reports that there is none."
    )
    package static let statementDeadline = Setting(
        "database.statement_deadline",
        .duration(.milliseconds(100)...(.seconds(3600))),
        default: .seconds(30),
        "How long one statement may take before it is cancelled."
    )

    package static let declarations = [
        url.declaration, connectionsMax.declaration, connectDeadline.declaration,
        statementDeadline.declaration,
    ]

    /// - Parameter applicationName: how the program shows up in `pg_stat_activity`.
    package static func options(
        _ values: SettingsValues,
        applicationName: String
    ) -> PostgresOptions {
        var options = PostgresOptions(
            connectionString: values[url],
            applicationName: applicationName
        )
        options.connectDeadline = values[connectDeadline]
        options.statementDeadline = values[statementDeadline]
        return options
    }

    /// A worker's client, which connects when it is first used.
    ///
    /// Workers look everything up by index. Without this, a plan that was made while a table was
    /// nearly empty reads it whole for each row that is asked for, until the server happens to
    /// gather statistics again.
    package static func client(
        _ values: SettingsValues,
        applicationName: String
    ) -> PostgresClient {
        var options = options(values, applicationName: applicationName)
        options.sessionSettings = pointLookups
        return PostgresClient(options, connectionsMax: values[connectionsMax])
    }

    /// The planner's settings for sessions that only ever look up by index.
    package static let pointLookups = ["enable_seqscan": "off"]
}
