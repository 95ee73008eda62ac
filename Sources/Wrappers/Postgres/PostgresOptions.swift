import CLibPQ
import Platform
import Synchronization

/// The server's address and the limits of time.
package struct PostgresOptions: Sendable {
    /// A URL (`postgresql://user:password@host:5432/database`) or libpq's `key=value` form.
    ///
    /// Holds the password: never logged.
    package var connectionString: String

    /// A password in place of the connection string's, which may have none; never logged.
    package var password: String?

    /// Reads both again before each connection, since they may have been replaced.
    package var newestLogin: (@Sendable () -> PostgresLogin)? { didSet { workingLogin = WorkingLogin() } }

    /// Shared by the copies of these options that read the same logins.
    private(set) var workingLogin = WorkingLogin()

    /// Shown in the server's `pg_stat_activity`.
    package var applicationName: String

    package var connectDeadline: Duration = .seconds(10)

    /// Maximum time of a call that names no deadline of its own.
    package var statementDeadline: Duration = .seconds(30)

    /// Longest silence before the server ends the session and releases its locks.
    ///
    /// The server waits this long for the process in the middle of a transaction, or for a sign of
    /// a machine that is gone.
    package var silenceMax: Duration = .seconds(10)

    /// The schema that names without one belong to.
    package var schema = "public"

    /// Whether the session itself holds something: a lock until its end, a channel listened to.
    ///
    /// The server has to take writes. It ends the session after `silenceMax` outside of a
    /// transaction too; four times in that time the connection shows it that this process lives,
    /// and asks whether it still takes writes.
    package var isHeld = false

    /// The server's parameters for this session, over those of `SessionSettings`.
    package var sessionSettings: [String: String] = [:]

    /// Prepared statements kept per connection.
    package var preparedStatementsMax = 256

    /// Time for which a client's connections are used before they are renewed.
    ///
    /// The server keeps a plan for as long as the connection lasts, also one that was made when a
    /// table was empty and any index as good as another; only new statistics of that table end it.
    /// The server may also have become read-only after a failover, which a connection that only
    /// reads does not notice.
    package var renewalInterval: Duration = .seconds(10)

    package var noticeHandler: @Sendable (PostgresNotice) -> Void = { _ in }

    /// Called with true when a call begins to wait for the server, or for a connection, and with
    /// false when that is over; waiting for notifications does not count.
    ///
    /// The handler serves accounts of time. It runs in the task of the caller, on any thread, and
    /// must not block.
    package var waitHandler: @Sendable (_ hasBegun: Bool) -> Void = { _ in }

    package init(connectionString: String, applicationName: String) {
        self.connectionString = connectionString
        self.applicationName = applicationName
    }
}

/// The server's address and the user who connects; holds the password, and is never logged.
package struct PostgresLogin: Hashable, Sendable {
    package let connectionString: String
    package let password: String?

    package init(connectionString: String, password: String?) {
        self.connectionString = connectionString
        self.password = password
    }
}

/// The newest login by which a session was opened, on any thread; nil before the first one.
final class WorkingLogin: Sendable {
    private let state = Mutex<PostgresLogin?>(nil)

    var login: PostgresLogin? { state.withLock(\.self) }

    func record(_ login: PostgresLogin) { state.withLock { $0 = login } }
}

extension PostgresOptions {
    /// The login with which a connection is made now.
    var login: PostgresLogin { newestLogin?() ?? PostgresLogin(connectionString: connectionString, password: password) }

    /// Begins a wait for a connection; nil if waits are not reported.
    func wait(within limit: Duration) -> ServerWait? {
        .begin(
            for: "PostgreSQL at " + ((try? ConnectionString(login.connectionString).server) ?? "its server"),
            within: limit)
    }

    /// These options with another login.
    func with(_ login: PostgresLogin) -> PostgresOptions {
        var options = self
        options.connectionString = login.connectionString
        options.password = login.password
        return options
    }
}

/// A connection string, taken apart before libpq connects by it.
///
/// A `@`, `/` or `?` that was not escaped in a password makes libpq take a part of the password for
/// the host, the port or the database, and its messages quote these. So a string that reads like
/// that is refused, and of libpq's messages only what may be shown is kept.
struct ConnectionString {
    /// The parts that may be quoted: names of host, database, user and libpq's parameters.
    let shown: Set<String>
    /// The ones in the string; libpq takes what is missing from the environment.
    private let hosts: [String]
    private let ports: [String]

    /// - Throws: if libpq cannot read it, or would read it otherwise than it is meant; nothing
    ///   of the string is in the error.
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

    /// The server's address, such as `db.example.com:5432`, several separated by commas.
    ///
    /// A socket has its folder instead of a host.
    var server: String {
        let defaults = unsafe Self.values(PQconndefaults()) ?? [:]
        func known(_ named: [String], _ name: String, _ other: String) -> [String] {
            let known = named.isEmpty ? Self.list(name, of: defaults) : named
            return known.isEmpty ? [other] : known
        }
        let ports = known(ports, "port", "5432")
        return known(hosts, "host", "localhost").enumerated().map { index, host in
            // One port for each host, or one for all.
            "\(host):\(ports[min(index, ports.count - 1)])"
        }.joined(separator: ",")
    }

    private static let unreadable = PostgresError(
        code: .invalidConnectionString,
        message: "the connection string cannot be read; expected"
            + " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, where @, / and ? in user and"
            + " password are written %40, %2F and %3F, or key=value pairs")

    /// Whether a URL has an `@` besides the one before the host.
    private static func isEscapeMissing(_ text: String) -> Bool {
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else { return false }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = rest[..<(end ?? rest.endIndex)]
        let at = UInt8(ascii: "@")
        return authority.count { $0 == at } > 1 || rest[authority.endIndex...].contains(at)
    }

    /// Every parameter of libpq by its name, with its value or nil; nil if it could not be read.
    ///
    /// - Parameter parsed: libpq's, freed here.
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
