import Settings
import Testing

@Suite struct SettingsDocumentationTests {
    @Test func `help names every setting with its variable, bounds and default`() {
        let help = Example.schema.help
        for declaration in Example.schema.declarations {
            #expect(help.contains("  \(declaration.name)  (\(declaration.environmentName); "))
        }
        #expect(help.contains("size, default 4MiB"))
        #expect(help.contains("POSTGRES_URL_FILE"))
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func `the table has a row for every setting`() {
        let rows = Example.schema.markdownTable.split(separator: "\n")
        #expect(rows.count == Example.schema.declarations.count + 2)
        #expect(
            rows.contains(
                "| `batch.records_max` | `BATCH_RECORDS_MAX` | `1000` | "
                    + "Maximum records per batch. (an integer from 1 to 100000) |"))
    }

    @Test func `the report shows values, where they come from, and no secret`() throws {
        let report = try Example.read(["BATCH_RECORDS_MAX": "8"], file: #"{"topic": {"prefix": "file."}}"#).report
        let lines = report.split(separator: "\n").map { line in
            line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        #expect(lines.contains("batch.records_max = 8 # environment BATCH_RECORDS_MAX"))
        #expect(lines.contains("topic.prefix = file. # file settings.json"))
        #expect(lines.contains("shutdown.budget = 20s # default"))
        #expect(lines.contains("catalog.file = (none) # default"))
        #expect(lines.contains("postgres.url = ******** # environment POSTGRES_URL"))
    }
}
