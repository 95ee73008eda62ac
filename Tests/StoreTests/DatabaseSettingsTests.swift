import Store
import Postgres
import Settings
import Testing

@Suite struct DatabaseSettingsTests {
    @Test func `the options follow the settings`() throws {
        let values = try SettingsSchema(DatabaseSettings.declarations).read(environment: [
            "DATABASE_URL": "postgresql://u:secret@h/d", "DATABASE_STATEMENT_DEADLINE": "3s",
        ])
        let options = DatabaseSettings.options(values, applicationName: "dedupe-worker")
        #expect(options.connectionString == "postgresql://u:secret@h/d")
        #expect(options.applicationName == "dedupe-worker")
        #expect(options.statementDeadline == .seconds(3))
        #expect(options.connectDeadline == .seconds(10))
        #expect(!values.report.contains("secret@"))
    }
}
