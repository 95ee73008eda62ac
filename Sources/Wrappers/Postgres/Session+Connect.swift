import CLibPQ
import Glibc

extension Session {
    /// Connects and waits until the server is ready.
    static func connect(_ options: PostgresOptions, wakePipe: WakePipe, until deadline: ContinuousClock.Instant)
        throws(PostgresError) -> Session
    {
        let readable = try ConnectionString(options.connectionString)
        let silence = Keepalives(silenceMax: options.silenceMax)
        // The connection string may override the keywords before `dbname`.
        var keywords = [
            "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname",
            "fallback_application_name", "client_encoding",
        ]
        var values = [
            "\(silence.idleSeconds)", "\(silence.intervalSeconds)", "\(silence.count)",
            "\(silence.unacknowledgedMilliseconds)", options.connectionString, options.applicationName, "UTF8",
        ]
        if let password = options.password {
            keywords.append("password")
            values.append(password)
        }
        let started = unsafe withCStrings(keywords) { keywords in
            unsafe withCStrings(values) { values in
                // The argument 1 means: `dbname` contains a whole connection string.
                unsafe PQconnectStartParams(keywords, values, 1)
            }
        }
        guard let started = unsafe started else {
            throw PostgresError(code: .connectionFailed, message: "no memory for a connection")
        }
        let session = unsafe Session(takingOwnershipOf: started, wakePipe: wakePipe, options: options)
        try session.finishConnecting(until: deadline, showing: readable.shown)
        return session
    }

    /// - Returns: whether the server accepts writes.
    /// - Throws: also if the server refuses a setting, because the session would differ from the request.
    func apply(_ settings: [String: String], until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
        let sorted = settings.sorted { $0.key < $1.key }
        let statement = PostgresStatement(
            """
            SELECT set_config(name, value, false)
            FROM unnest($1::text[], $2::text[]) AS setting (name, value)
            """, [.textArray(sorted.map(\.key)), .textArray(sorted.map(\.value))])
        return try run([statement, .isWritable], until: deadline)[1][0].bool(0)
    }

    private func finishConnecting(until deadline: ContinuousClock.Instant, showing shown: Set<String>)
        throws(PostgresError)
    {
        let connection = try unsafe open()
        // Only the verbose form contains the SQLSTATE of a refusal, which has no result object.
        _ = unsafe PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        var status = unsafe PQstatus(connection) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING {
            let events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT
            _ = try wait(for: Int32(events), until: deadline)
            status = unsafe PQconnectPoll(connection)
        }
        guard status == PGRES_POLLING_OK, unsafe PQsetnonblocking(connection, 1) == 0 else {
            throw unsafe connectionFailure(connection, showing: shown)
        }
        _ = unsafe PQsetErrorVerbosity(connection, PQERRORS_TERSE)
    }

    @unsafe private func connectionFailure(_ connection: OpaquePointer, showing shown: Set<String>) -> PostgresError {
        let text = unsafe PQerrorMessage(connection).map { unsafe String(cString: $0) } ?? ""
        close()
        let failure = ConnectionFailure(text, showing: shown)
        let isRefused = failure.sqlState?.errorClass == "28"
        return PostgresError(
            code: isRefused ? .authenticationFailed : .connectionFailed, message: failure.message,
            sqlState: failure.sqlState)
    }
}

/// Calls `body` with a null-terminated array of C strings, valid for the call.
@unsafe private func withCStrings<R>(_ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R) -> R {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    let pointers = unsafe copies.map { unsafe UnsafePointer<CChar>($0) } + [nil]
    return unsafe pointers.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("an array with a terminator has an address") }
        return unsafe body(base)
    }
}

/// A parsed error text of libpq about a failed connection.
///
/// The verbose form is `connection to server at "h" (1.2.3.4), port 5432 failed: FATAL: 28P01: password authentication
/// failed for user "u"`, followed by lines of detail, which are dropped.
struct ConnectionFailure: Equatable {
    let message: String
    let sqlState: SQLState?

    private static let messageCharactersMax = 500

    /// - Parameter shown: texts that may be quoted; any other text in quotation marks is replaced by `…`.
    init(_ text: String, showing shown: Set<String>) {
        let firstLine = text.split(separator: "\n").first.map(String.init) ?? ""
        let state = Self.sqlState(in: firstLine)
        sqlState = state.map(SQLState.init)
        message =
            firstLine.isEmpty
            ? "the server cannot be reached" : String(Self.redacted(firstLine, shown).prefix(Self.messageCharactersMax))
    }

    private static func redacted(_ line: String, _ shown: Set<String>) -> String {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            let isQuoted = !index.isMultiple(of: 2)
            return isQuoted && !mayBeShown(part, shown) ? "…" : String(part)
        }.joined(separator: "\"")
    }

    /// Whether a quoted part may be shown; a socket's path begins with the folder that is named as the host.
    private static func mayBeShown(_ part: Substring, _ shown: Set<String>) -> Bool {
        shown.contains(String(part)) || shown.contains { $0.hasPrefix("/") && part.hasPrefix($0 + "/.s.PGSQL.") }
    }

    /// The five-character code between a severity and the message: `:  28P01: `.
    private static func sqlState(in line: String) -> String? {
        for word in line.split(separator: " ") where word.count == 6 && word.last == ":" {
            let code = word.dropLast()
            let isCode = code.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            }
            if isCode, code.contains(where: \.isNumber) { return String(code) }
        }
        return nil
    }
}
