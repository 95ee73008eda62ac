import Foundation
import Platform
package import Simulation

/// A PostgreSQL server that lets in only over TLS, and by SCRAM, under the name `localhost`.
package struct SecurePostgres: Sendable {
    package let server: PrivatePostgres
    package let certificates: TestCertificates
    private let folder: URL

    /// - Parameter settings: further ones of `postgresql.conf`.
    package static func start(settings: [String: String] = [:]) async throws -> SecurePostgres {
        let folder = FileManager.default.temporaryDirectory.appending(path: "secure-postgres-\(UUID().uuidString)")
        let certificates = try await TestCertificates(in: folder)
        let issued = try await certificates.issue("server")
        let rules = folder.appending(path: "pg_hba.conf")
        try Data("hostssl all all 127.0.0.1/32 scram-sha-256\n".utf8).write(to: rules)
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        for path in [issued.key, issued.certificate, rules.path] where geteuid() == 0 {
            // PostgreSQL does not run as root, and takes a key of root's that its group may read.
            try files.setAttributes([.posixPermissions: 0o640, .groupOwnerAccountName: "postgres"], ofItemAtPath: path)
        }
        var configuration = PrivatePostgres.Configuration()
        configuration.settings = settings.merging([
            "ssl": "on", "ssl_cert_file": issued.certificate, "ssl_key_file": issued.key, "hba_file": rules.path,
        ]) { $1 }
        let server = try await PrivatePostgres.start(configuration)
        return SecurePostgres(server: server, certificates: certificates, folder: folder)
    }

    /// A connection string for a user, with what it says about TLS.
    ///
    /// - Parameters:
    ///   - login: `user` or `user:password`; nil for the superuser with its password.
    ///   - authority: nil for the one that vouches for this server.
    package func connectionString(
        login: String? = nil, host: String = "localhost", database: String = "postgres", mode: String = "verify-full",
        authority: String? = nil
    ) -> String {
        let whole = server.connectionString(database: database)
        let own = whole.split(separator: "@")[0].dropFirst("postgresql://".count)
        // The server listens on IPv4 alone.
        return "postgresql://\(login ?? String(own))@\(host):\(server.port)/\(database)"
            + "?sslmode=\(mode)&sslrootcert=\(authority ?? certificates.authority)"
            + (host == "localhost" ? "&hostaddr=127.0.0.1" : "")
    }

    /// Lends a server to `body` and removes it afterwards, however that ends.
    package static func lend(_ body: (SecurePostgres) async throws -> Void) async throws {
        let postgres = try await start()
        try await closing {
            try await postgres.remove()
        } after: {
            try await body(postgres)
        }
    }

    package func remove() async throws {
        try await server.remove()
        try FileManager.default.removeItem(at: folder)
    }
}
