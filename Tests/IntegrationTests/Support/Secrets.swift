import Foundation
import Postgres
import Simulation

/// Texts that no log, metric or answer of a worker may hold.
struct Secrets: Sendable {
    private let accountTokens: [String]
    private let password: String?

    init(_ traffic: DemoTraffic, _ database: PostgresOptions) {
        accountTokens = traffic.users.compactMap { $0.accountToken?.lowercased() }
        password = URLComponents(string: database.connectionString)?.password
    }

    /// The findings, which do not repeat the secret.
    func findings(in text: String) -> [String] {
        var findings: [String] = []
        // JSON in base64url begins like this, and so does every header and payload of a JWS.
        if text.contains(/eyJ[A-Za-z0-9_-]{12}/) { findings.append("holds a JWS or a part of one") }
        // And so does DER in base64.
        if text.contains(/MII[A-Za-z0-9+\/]{12}/) { findings.append("holds a certificate or a receipt") }
        let lowercased = text.lowercased()
        if accountTokens.contains(where: lowercased.contains) { findings.append("holds an account token") }
        if let password, !password.isEmpty, text.contains(password) { findings.append("holds the database's password") }
        return findings
    }
}
