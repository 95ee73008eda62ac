import Settings
import Testing

@Suite struct SettingsReadingTests {
    @Test func `what is not given has its default`() throws {
        let values = try Example.read()
        #expect(values[Example.bootstrap] == [HostPort(host: "broker", port: 9092)])
        #expect(values[Example.prefix] == "storekit.")
        #expect(values[Example.recordsMax] == 1000)
        #expect(values[Example.budget] == .seconds(20))
        #expect(values[Example.mode] == .links)
        #expect(values[Example.catalog] == nil)
        #expect(values[Example.apps] == nil)
    }

    @Test func `the file is read nested and dotted, in the types of JSON and as text`() throws {
        let file = """
            {"topic": {"prefix": ""}, "batch": {"records_max": 7, "bytes_max": "1MiB"},
             "shutdown.budget": "500ms", "linking": {"trust_ingest_user": true, "mode": "identity"},
             "kafka": {"bootstrap": ["a:1", "[::1]:2"]}, "catalog": {"file": null}}
            """
        let values = try Example.read(["KAFKA_BOOTSTRAP": nil], file: file)
        #expect(values[Example.prefix] == "")
        #expect(values[Example.recordsMax] == 7)
        #expect(values[Example.bytesMax] == 1 << 20)
        #expect(values[Example.budget] == .milliseconds(500))
        #expect(values[Example.trust])
        #expect(values[Example.mode] == .identity)
        #expect(values[Example.bootstrap].commaSeparated == "a:1,[::1]:2")
    }

    @Test func `the environment wins over the file, and empty counts as not set`() throws {
        let file = #"{"batch": {"records_max": 7}, "topic": {"prefix": "file."}}"#
        let values = try Example.read(["BATCH_RECORDS_MAX": "8", "TOPIC_PREFIX": ""], file: file)
        #expect(values[Example.recordsMax] == 8)
        #expect(values[Example.prefix] == "file.")
    }

    @Test func `an option wins over environment and file, also if it is empty`() throws {
        let file = try TemporaryFile(#"{"topic": {"prefix": "file."}, "postgres": {"url": "postgres://file"}}"#)
        let secret = try TemporaryFile("postgres://from-file\n")
        func read(_ options: String...) throws -> SettingsValues {
            let syntax = CommandSyntax(
                "tool", "Reads.",
                options: ["config", "prefix", "postgres"].map { CommandOption($0, argument: "TEXT", "A setting.") })
            return try Example.schema.read(
                syntax.parse(["--config", file.path] + options),
                environment: ["KAFKA_BOOTSTRAP": "a:1", "TOPIC_PREFIX": "b.", "POSTGRES_URL_FILE": secret.path],
                overrides: [("prefix", Example.prefix.declaration), ("postgres", Example.database.declaration)])
        }
        #expect(try read()[Example.prefix] == "b.")
        #expect(try read("--prefix=c.")[Example.prefix] == "c.")
        #expect(try read("--prefix", "")[Example.prefix] == "")
        let given = try read("--postgres=postgres://given")
        #expect(given[Example.database] == "postgres://given")
        #expect(given.secretsOfFiles.isEmpty)
        let error = #expect(throws: SettingsError.self) { try read("--postgres=") }
        #expect(error?.description == "postgres.url (option --postgres): expected text of 1 to 4096 bytes")
    }

    @Test func `every problem is reported at once`() {
        let problems = Example.problems(
            [
                "KAFKA_BOOTSTRAP": nil, "POSTGRES_URL": nil, "BATCH_RECORDS_MAX": "0", "SHUTDOWN_BUDGET": "5",
                "RDKAFKA_ACKS": "0",
            ], file: #"{"linking": {"mode": "tokens"}, "batch": {"record_max": 1}}"#)
        #expect(problems.count == 7)
        #expect(
            problems.contains(
                "kafka.bootstrap (environment KAFKA_BOOTSTRAP): required: expected a "
                    + "comma-separated list of host:port, such as broker-1:9092,broker-2:9092"))
        #expect(
            problems.contains(
                "batch.record_max (file settings.json): there is no such setting, did you mean batch.records_max?"))
        #expect(
            problems.contains(
                "linking.mode (file settings.json): expected one of identity, links, " + #"found "tokens""#))
    }

    @Test(arguments: [
        ("BATCH_RECORDS_MAX", "100001"), ("BATCH_RECORDS_MAX", "+5"), ("BATCH_RECORDS_MAX", "1e3"),
        ("BATCH_RECORDS_MAX", "٣"), ("BATCH_BYTES_MAX", "4096"), ("BATCH_BYTES_MAX", "1 MiB"),
        ("BATCH_BYTES_MAX", "1023B"), ("BATCH_BYTES_MAX", "99999999999999999GiB"), ("SHUTDOWN_BUDGET", "1.5s"),
        ("SHUTDOWN_BUDGET", "99ms"), ("LINKING_TRUST_INGEST_USER", "yes"), ("KAFKA_BOOTSTRAP", "broker"),
        ("KAFKA_BOOTSTRAP", "broker:0"), ("KAFKA_BOOTSTRAP", "broker:9092,"), ("KAFKA_BOOTSTRAP", "::1:9092"),
        ("CATALOG_FILE", "/nowhere"), ("CATALOG_FILE", "/tmp"), ("TOPIC_PREFIX", "a\nb"),
    ]) func `a value out of its kind or bounds is refused`(name: String, value: String) {
        let problems = Example.problems([name: value])
        #expect(problems.count == 1)
        #expect(problems.first?.contains("environment \(name)") == true)
        #expect(problems.first?.contains("expected ") == true)
    }

    @Test func `a secret comes from a file, its first line`() throws {
        let file = try TemporaryFile("postgres://from-file\n")
        let values = try Example.read(["POSTGRES_URL": nil, "POSTGRES_URL_FILE": file.path])
        #expect(values[Example.database] == "postgres://from-file")
    }

    @Test func `a secret given twice or from a missing file is refused, without its value`() throws {
        let file = try TemporaryFile("postgres://from-file\n")
        let twice = Example.problems(["POSTGRES_URL_FILE": file.path])
        #expect(twice.count == 1)
        #expect(!twice.joined().contains("secret"))
        let missing = Example.problems(["POSTGRES_URL": nil, "POSTGRES_URL_FILE": "/nowhere"])
        #expect(missing.count == 1)
        #expect(missing.first?.contains("POSTGRES_URL_FILE") == true)
    }

    @Test func `a wrong secret is not shown`() {
        let problems = Example.problems(["POSTGRES_URL": "hunter2\u{7}"])
        #expect(problems.count == 1)
        #expect(!problems.joined().contains("hunter2"))
    }

    @Test func `a setting given nested and dotted is refused`() {
        let problems = Example.problems(file: #"{"topic": {"prefix": "a"}, "topic.prefix": "b"}"#)
        #expect(problems.count == 1)
        #expect(problems.first?.contains("given twice") == true)
    }

    @Test(arguments: ["[]", "{", "", #"{"a": 1, "a": 2}"#]) func `a file that is no JSON object is one problem`(
        text: String
    ) { #expect(Example.problems(file: text).count == 1) }

    @Test func `equal settings have equal canonical texts, secrets left out`() throws {
        let declarations = Example.schema.declarations
        let texts = try [
            Example.read(["BATCH_BYTES_MAX": "1024KiB"]),
            Example.read(["BATCH_BYTES_MAX": "1MiB", "POSTGRES_URL": "postgres://other"]), Example.read(),
        ].map { $0.canonicalText(of: declarations) }
        #expect(texts[0] == texts[1])
        #expect(texts[0] != texts[2])
        #expect(!texts[0].contains("postgres://"))
    }
}
