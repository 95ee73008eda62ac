import Postgres
import Settings
import TestSupport
import Testing

@testable import Operations

@Suite struct FeedVersionsTests {
    @Test func `publishing all users again ends where nobody publishes`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        try await connection.execute(
            script: """
                INSERT INTO changes (user_id, version, environment, grant_id, entitlement_key,
                    old_periods, new_periods, cause)
                SELECT 'anna', number, 'Production', 1, 'pro', '{}', '{}', 'grant'
                FROM generate_series(1, 50001) AS number
                """)
        let settings = try SettingsSchema([]).read(environment: [:])
        let versions = FeedVersions(settings: settings, stallMax: .seconds(1))
        let error = await #expect(throws: CommandError.self) {
            _ = try await versions.republish(on: connection) { _ in }
        }
        #expect(
            error?.description.contains(
                "50,001 changes wait to be published and get no fewer within 1 s: start "
                    + "entitle-worker, and run the command again") == true, "\(String(describing: error))")
        #expect(error?.exitCode == ExitCode.unavailable)
        await connection.close()
    }
}
