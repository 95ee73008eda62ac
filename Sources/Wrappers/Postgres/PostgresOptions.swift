import CLibPQ
import Platform
import Synchronization

/// The server's address, the login and the time limits.
package struct PostgresOptions: Sendable {
    /// A URL (`postgresql://user:password@host:5432/database`) or libpq's `key=value` form.
    ///
    /// The string contains the password: never logged.
    package var connectionString: String

    /// A password that replaces the connection string's; never logged.
    package var password: String?

    /// Reads connection string and password again before each connection, because both may have been replaced.
    package var newestLogin: (@Sendable () -> PostgresLogin)? { didSet { workingLogin = WorkingLogin() } }

    /// The last working login, shared by the copies of these options that read the same logins.
    private(set) var workingLogin = WorkingLogin()

    /// The name of the client in the server's `pg_stat_activity`.
    package var applicationName: String

    package var connectDeadline: Duration = .seconds(10)

    /// Maximum time of a call without a deadline of its own.
    package var statementDeadline: Duration = .seconds(30)

    /// Maximum silence before the server ends the session and releases its locks.
    ///
    /// The server waits this long for the process in the middle of a transaction, or for a sign of a machine that may
    /// be dead.
    package var silenceMax: Duration = .seconds(10)

    /// The schema of unqualified names.
    package var schema = "public"

    /// Whether the session itself holds a resource: a lock until its end, or a channel it listens to.
    ///
    /// The server must accept writes. It ends the session after `silenceMax` outside of a transaction too; four times
    /// in that time the connection shows the server that this process is alive, and asks whether the server still
    /// accepts writes.
    package var isHeld = false

    /// The server's parameters for this session, which override `SessionSettings`.
    package var sessionSettings: [String: String] = [:]

    /// Prepared statements kept per connection.
    package var preparedStatementsMax = 256

    /// Maximum age of a client's connections before they are renewed.
    ///
    /// The server keeps a plan until the connection ends or the table has new statistics, even a plan that was made
    /// for an empty table, for which any index seemed equally good. The server may also have become read-only after a
    /// failover, which a connection that only reads does not detect.
    package var renewalInterval: Duration = .seconds(10)

    package var noticeHandler: @Sendable (PostgresNotice) -> Void = { _ in }

    /// Called with true when a call begins to wait for the server or for a connection, and with false when the wait
    /// ends.
    ///
    /// Waits for notifications are not reported.
    ///
    /// The handler serves time accounting. It runs in the caller's task, on any thread, and must not block.
    package var waitHandler: @Sendable (_ hasBegun: Bool) -> Void = { _ in }

    package init(connectionString: String, applicationName: String) {
        self.connectionString = connectionString
        self.applicationName = applicationName
    }
}

/// The server's address and the user; contains the password, and is never logged.
package struct PostgresLogin: Hashable, Sendable {
    package let connectionString: String
    package let password: String?

    package init(connectionString: String, password: String?) {
        self.connectionString = connectionString
        self.password = password
    }
}

/// The newest login that has opened a session, on any thread.
///
/// `nil` before the first session.
final class WorkingLogin: Sendable {
    private let state = Mutex<PostgresLogin?>(nil)

    var login: PostgresLogin? { state.withLock(\.self) }

    func record(_ login: PostgresLogin) { state.withLock { $0 = login } }
}

extension PostgresOptions {
    /// The login for a new connection.
    var login: PostgresLogin { newestLogin?() ?? PostgresLogin(connectionString: connectionString, password: password) }

    /// Begins a wait for a connection.
    ///
    /// `nil` if waits are not reported.
    func wait(within limit: Duration) -> ServerWait? {
        .begin(
            for: "PostgreSQL at " + ((try? ConnectionString(login.connectionString).server) ?? "its server"),
            within: limit)
    }

    /// Returns these options with another login.
    func with(_ login: PostgresLogin) -> PostgresOptions {
        var options = self
        options.connectionString = login.connectionString
        options.password = login.password
        return options
    }
}

/// A connection string, parsed before libpq uses it.
///
/// If a password contains an unescaped `@`, `/` or `?`, libpq reads a part of the password as the host, the port or
/// the database, and quotes it in messages. So such an ambiguous string is refused, and only the parts of libpq's
/// messages that may be shown are kept.
struct ConnectionString {
    /// The parts that may be quoted: names of host, database, user and libpq's parameters.
    let shown: Set<String>
    /// The hosts in the string; libpq takes missing ones from the environment.
    private let hosts: [String]
    private let ports: [String]

    /// - Throws: an error without any part of the string, if libpq cannot read the string or would misread it.
    init(_ text: String) throws(PostgresError) {
        let read = unsafe Self.values(PQconninfoParse(text, nil))
        guard let values = read, !Self.isEscapeMissing(text) else { throw Self.unreadable }
        hosts = Self.list("host", of: values)
        ports = Self.list("port", of: values)
        guard ports.allSatisfy({ UInt16($0) != nil }) else { throw Self.unreadable }
        let names = [values["dbname"], values["user"]].compactMap { $0 ?? nil }
        shown = Set(hosts + names + values.keys)
    }

    private static func list(_ name: String, of values: [String: String?]) -> [String] {
        (values[name] ?? nil)?.split(separator: ",").map(String.init) ?? []
    }

    /// The server's address, such as `db.example.com:5432`; several addresses are separated by commas.
    ///
    /// A socket is shown by its folder instead of a host.
    var server: String {
        let defaults = unsafe Self.values(PQconndefaults()) ?? [:]
        func known(_ named: [String], _ name: String, or other: String) -> [String] {
            let known = named.isEmpty ? Self.list(name, of: defaults) : named
            return known.isEmpty ? [other] : known
        }
        let ports = known(ports, "port", or: "5432")
        return known(hosts, "host", or: "localhost").enumerated().map { index, host in
            // The string has one port for each host, or one port for all hosts.
            "\(host):\(ports[min(index, ports.count - 1)])"
        }.joined(separator: ",")
    }

    private static let unreadable = PostgresError(
        code: .invalidConnectionString,
        message: "the connection string cannot be read; expected"
            + " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, where @, / and ? in user and"
            + " password are written %40, %2F and %3F, or key=value pairs")

    /// Whether a URL has an `@` in addition to the one before the host.
    private static func isEscapeMissing(_ text: String) -> Bool {
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else { return false }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = rest[..<(end ?? rest.endIndex)]
        let at = UInt8(ascii: "@")
        return authority.count { $0 == at } > 1 || rest[authority.endIndex...].contains(at)
    }

    /// Returns every parameter of libpq by its name, with its value or `nil`; `nil` if the string could not be read.
    ///
    /// - Parameter parsed: libpq's list, which this function frees.
    @unsafe private static func values(_ parsed: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String?]? {
        guard let parsed = unsafe parsed else { return nil }
        defer { unsafe PQconninfoFree(parsed) }
        var values: [String: String?] = [:]
        var next = unsafe parsed
        while let keyword = unsafe next.pointee.keyword {
            let value = unsafe next.pointee.val.map { unsafe String(cString: $0) }
            values.updateValue(value, forKey: unsafe String(cString: keyword))
            unsafe next += 1
        }
        return values
    }
}
