/// The login of a connection: the newest login, or the last login that has worked.
extension PostgresConnection {
    /// Connects without reporting the wait: with the newest login, or, while the server refuses it, with the last
    /// login that has worked.
    static func attempt(_ options: PostgresOptions, deadline: Duration) async throws(PostgresError)
        -> PostgresConnection
    {
        let newest = options.login
        do throws(PostgresError) { return try await attempt(options, by: newest, deadline: deadline) } catch {
            guard error.fault == .operator, options.newestLogin != nil, let former = options.workingLogin.login,
                former != newest, let connection = try? await open(options, by: former, deadline: deadline)
            else { throw error }
            return connection
        }
    }

    /// Connects with a login; once the login has worked, all other sessions are replaced.
    static func attempt(_ options: PostgresOptions, by login: PostgresLogin, deadline: Duration)
        async throws(PostgresError) -> PostgresConnection
    {
        let connection = try await open(options, by: login, deadline: deadline)
        options.workingLogin.record(login)
        return connection
    }

    private static func open(_ options: PostgresOptions, by login: PostgresLogin, deadline: Duration)
        async throws(PostgresError) -> PostgresConnection
    {
        let connection = PostgresConnection(options, login)
        try await connection.open(until: .now + deadline)
        return connection
    }

    /// Whether another login has worked since this connection was opened.
    nonisolated var isOfFormerLogin: Bool { options.newestLogin != nil && options.workingLogin.login != login }
}
