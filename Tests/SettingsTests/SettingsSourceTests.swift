import Foundation
import Settings
import Testing

@Suite struct SettingsSourceTests {
    private func source(_ file: TemporaryFile?, environment: [String: String] = Example.environment) -> SettingsSource {
        SettingsSource(
            schema: Example.schema, environment: environment, filePath: file?.path,
            problems: { values in
                values[Example.recordsMax] == 13
                    ? [SettingProblem(setting: "batch.records_max", message: "unlucky")] : []
            })
    }

    private func write(_ text: String, to file: TemporaryFile) throws {
        try Data(text.utf8).write(to: URL(filePath: file.path), options: .atomic)
    }

    @Test func `what was changed in the file is read again, what the environment says stays`() throws {
        let file = try TemporaryFile(#"{"batch": {"records_max": 9}, "topic": {"prefix": "a."}}"#)
        let environment = Example.environment.merging(["TOPIC_PREFIX": "b."]) { $1 }
        let source = source(file, environment: environment)
        let first = try source.read()
        try write(#"{"batch": {"records_max": 8}, "topic": {"prefix": "c."}}"#, to: file)
        let second = try source.read()
        #expect(second[Example.recordsMax] == 8)
        #expect(second[Example.prefix] == "b.")
        #expect(second.names(differingFrom: first) == ["batch.records_max"])
    }

    @Test func `settings are checked as a whole, each time`() throws {
        let file = try TemporaryFile(#"{"batch": {"records_max": 9}}"#)
        let source = source(file)
        _ = try source.read()
        try write(#"{"batch": {"records_max": 13}}"#, to: file)
        let error = try #require(throws: SettingsError.self) { try source.read() }
        #expect(error.problems.map(\.message) == ["unlucky"])
    }

    @Test func `the files are the one of settings and those of secrets`() throws {
        let file = try TemporaryFile("{}")
        let environment = ["KAFKA_BOOTSTRAP": "a:1", "POSTGRES_URL_FILE": "/run/secrets/url"]
        #expect(source(file, environment: environment).files == [file.path, "/run/secrets/url"])
        #expect(source(nil).files.isEmpty)
    }

    @Test func `only the named settings are taken from others`() throws {
        let first = try Example.read()
        let second = try Example.read(["BATCH_RECORDS_MAX": "5", "TOPIC_PREFIX": "x.", "RDKAFKA_DEBUG": "all"])
        let mixed = first.taking([Example.recordsMax.declaration], from: second)
        #expect(mixed[Example.recordsMax] == 5)
        #expect(mixed[Example.prefix] == "storekit.")
        #expect(mixed.names(differingFrom: first) == ["batch.records_max"])
        #expect(mixed.names(differingFrom: second) == ["topic.prefix", "rdkafka.debug"])
    }
}
