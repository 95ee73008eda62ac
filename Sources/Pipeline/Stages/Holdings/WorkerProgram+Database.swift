package import Postgres
package import Records
package import Settings
package import Store
import Telemetry
package import Worker

extension WorkerProgram.Parts {
    /// The database client of a stage.
    ///
    /// Its calls count as the worker's time in the database, and gauges show its connections. Call
    /// this once for each metrics registry.
    package func databaseClient(_ stage: StageDescription) -> PostgresClient {
        let client = DatabaseSettings.client(
            settings, applicationName: stage.program, sessionTimeout: settings[WorkerSettings.sessionTimeout],
            waitHandler: { TimeAccount.databaseWait(hasBegun: $0) })
        let connections = metrics.gauge(
            "database_connections", "Connections of the pool: `lent` and `idle` together are those that are open.",
            labels: ["state"])
        let waiting = metrics.gauge(
            "database_waiting_calls", "Calls that wait because all connections of the pool are lent.")
        metrics.beforeExposition {
            let counts = client.connections
            connections["lent"].set(counts.lent)
            connections["idle"].set(counts.open - counts.lent)
            waiting.set(counts.waiting)
        }
        return client
    }
}

extension DatabaseCheck {
    /// Tests the database of a stage with the settings of its worker.
    package static func findings(_ settings: SettingsValues, of stage: StageDescription, role: DatabaseRole) async
        -> [ConnectionFinding]
    {
        let options = DatabaseSettings.options(settings, applicationName: stage.program)
        return await findings(options, role: role)
    }
}

extension PostgresError: CausedFault {
    package var dependency: HealthCondition? { .database }

    package var cause: FaultCause {
        if isContention { return .contention }
        if isTooSlow { return .timeout }
        return switch code {
        case .connectionFailed, .connectionLost, .connectionClosed: .unreachable
        case .noConnectionFree: .overloaded
        case .authenticationFailed, .invalidConnectionString, .pooledByTransaction: .refused
        case .server where fault == .operator: .refused
        case .server where sqlState?.errorClass == "53": .overloaded
        case .server where sqlState?.errorClass == "57": .unreachable
        case .server, .deadlineExceeded, .cancelled, .unexpectedAnswer: .other
        }
    }
}
