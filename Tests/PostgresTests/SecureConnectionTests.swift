import Foundation
import Postgres
import TestSupport
import Testing

/// A server that lets in only over TLS and by SCRAM.
@Suite(.timeLimit(.minutes(10))) struct SecureConnectionTests {
    private static func options(_ connectionString: String) -> PostgresOptions {
        PostgresOptions(connectionString: connectionString, applicationName: "tests")
    }

    /// The error of a refused connection.
    ///
    /// `nil` if the server accepts it.
    private static func refusal(_ options: PostgresOptions) async throws -> PostgresError? {
        do throws(PostgresError) {
            let connection = try await PostgresConnection.connect(options)
            await connection.close()
            return nil
        } catch { return error }
    }

    @Test func `verify-full and SCRAM connect, and refuse another host, authority or no TLS`() async throws {
        let secure = try await SecurePostgres.start()
        let connection = try await PostgresConnection.connect(Self.options(secure.connectionString()))
        let row = try await connection.query("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0]
        #expect(row.bool(0))
        #expect(row.text(1) == "TLSv1.3")
        let password = try await connection.query("SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'")[0]
            .text(0)
        #expect(password.hasPrefix("SCRAM-SHA-256$"))
        await connection.close()

        let otherHost = Self.options(secure.connectionString(host: "127.0.0.1"))
        #expect(try await Self.refusal(otherHost)?.message.contains("does not match host") == true)
        let strangers = FileManager.default.temporaryDirectory.appending(path: "stranger-\(UUID().uuidString)")
        let other = try await TestCertificates(in: strangers)
        let otherAuthority = Self.options(secure.connectionString(authority: other.authority))
        let unverified = try await Self.refusal(otherAuthority)
        #expect(unverified?.message.contains("certificate verify failed") == true)
        #expect(unverified?.fault == .infrastructure)
        try FileManager.default.removeItem(at: strangers)
        let plain = Self.options(secure.connectionString(mode: "disable"))
        #expect(try await Self.refusal(plain)?.code == .authenticationFailed)
        try await secure.remove()
    }

    @Test func `a password beside the connection string counts, and a wrong one is not shown`() async throws {
        let secure = try await SecurePostgres.start()
        let owner = try await PostgresConnection.connect(Self.options(secure.connectionString()))
        try await owner.execute(script: "CREATE ROLE reader LOGIN PASSWORD 'a@/b?c%'")
        await owner.close()
        var options = Self.options(secure.connectionString(login: "reader:old"))
        options.password = "a@/b?c%"
        #expect(try await Self.refusal(options) == nil)
        options.password = "hunter2"
        let refusal = try await Self.refusal(options)
        #expect(refusal?.code == .authenticationFailed)
        #expect(refusal?.fault == .operator)
        #expect(refusal.map { "\($0)".contains("hunter2") } == false)
        try await secure.remove()
    }
}
