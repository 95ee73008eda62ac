/// The server's parameters that a session depends on; the session sets them itself, whatever the defaults of the
/// server, the role and the database are.
enum SessionSettings {
    /// Returns the parameters by name, as `set_config` takes them.
    static func values(_ options: PostgresOptions) -> [String: String] {
        fixed.merging(limits(options)) { $1 }.merging(["search_path": quoted(options.schema)]) { $1 }.merging(
            options.sessionSettings
        ) { $1 }
    }

    /// The settings that the statements' meaning and plans depend on.
    private static let fixed = [
        "client_encoding": "UTF8", "DateStyle": "ISO, MDY", "IntervalStyle": "postgres", "TimeZone": "UTC",
        "default_transaction_isolation": "read committed",
        // A commit that was acknowledged survives a power failure.
        "synchronous_commit": "on",
        // A batch's statements take milliseconds; JIT compilation would take longer, at each execution.
        "jit": "off", "max_parallel_workers_per_gather": "0", "plan_cache_mode": "auto", "enable_bitmapscan": "on",
        "enable_hashagg": "on", "enable_hashjoin": "on", "enable_indexonlyscan": "on", "enable_indexscan": "on",
        "enable_material": "on", "enable_memoize": "on", "enable_mergejoin": "on", "enable_nestloop": "on",
        "enable_seqscan": "on", "enable_sort": "on",
    ]

    /// Returns the limits after which the server releases the resources of a process that may never respond again.
    ///
    /// The network stack of a stopped process's machine still acknowledges packets, so the idle timeouts end its
    /// session. A dead machine is detected by keepalives or unacknowledged data, and during a statement by the
    /// connection check.
    private static func limits(_ options: PostgresOptions) -> [String: String] {
        let silence = Keepalives(silenceMax: options.silenceMax)
        let idle = milliseconds(options.silenceMax)
        return [
            "statement_timeout": statementTimeout(options.statementDeadline), "lock_timeout": "0",
            "idle_in_transaction_session_timeout": idle, "idle_session_timeout": options.isHeld ? idle : "0",
            "client_connection_check_interval": milliseconds(checkInterval),
            "tcp_keepalives_idle": "\(silence.idleSeconds)", "tcp_keepalives_interval": "\(silence.intervalSeconds)",
            "tcp_keepalives_count": "\(silence.count)", "tcp_user_timeout": "\(silence.unacknowledgedMilliseconds)",
        ]
    }

    /// Returns the time after which the server ends a statement by itself, in milliseconds.
    ///
    /// The client's deadline ends the statement earlier, unless the client's process has died.
    static func statementTimeout(_ deadline: Duration) -> String { milliseconds(deadline + statementGrace) }

    private static let statementGrace = Duration.seconds(5)
    private static let checkInterval = Duration.seconds(2)

    /// Returns the milliseconds as text, at least 1 because 0 means no limit.
    private static func milliseconds(_ duration: Duration) -> String { "\(max(1, duration.pollMilliseconds))" }

    private static func quoted(_ name: String) -> String {
        let parts = name.split(separator: "\"", omittingEmptySubsequences: false)
        return "\"\(parts.joined(separator: "\"\""))\""
    }
}

/// The silence after which the peer of a connection counts as dead, in the units of the server and of libpq.
struct Keepalives {
    let idleSeconds: Int
    let intervalSeconds: Int
    let count = 3
    let unacknowledgedMilliseconds: Int

    /// - Parameter silenceMax: the maximum silence; detection takes from two thirds of this time to about all of it.
    init(silenceMax: Duration) {
        let seconds = Double(silenceMax.pollMilliseconds) / 1000
        idleSeconds = max(1, Int(seconds / 3))
        intervalSeconds = max(1, Int(seconds / 6))
        unacknowledgedMilliseconds = max(1000, Int(seconds * 2000 / 3))
    }
}
