import Foundation
import Release
import Settings
import Testing

@Suite struct ServiceLaunchTests {
    private func launch(
        _ arguments: [String], environment: [String: String] = Example.environment,
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] }
    ) -> ServiceLaunch {
        ServiceLaunch.read(
            program: "verify-worker", summary: "Verifies.", schema: Example.schema, arguments: arguments,
            environment: environment, problems: problems)
    }

    private func outcome(_ launch: ServiceLaunch) throws -> CommandOutcome {
        guard case .finish(let outcome) = launch else { throw UsageError("it runs") }
        return outcome
    }

    @Test func `good settings run`() throws {
        guard case .run(let values, _) = launch([]) else {
            Issue.record("it does not run")
            return
        }
        #expect(values[Example.recordsMax] == 1000)
    }

    @Test func `wrong options end with 64`() throws {
        let outcome = try outcome(launch(["--chek"]))
        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.contains("did you mean --check?"))
    }

    @Test func `wrong settings end with 78, all of them named`() throws {
        let outcome = try outcome(launch(["--check"], environment: ["BATCH_RECORDS_MAX": "x"]))
        #expect(outcome.exitCode == 78)
        #expect(outcome.output.isEmpty)
        for name in ["kafka.bootstrap", "postgres.url", "batch.records_max"] { #expect(outcome.errors.contains(name)) }
    }

    @Test func `a file that is not there ends with 78`() throws {
        let outcome = try outcome(launch(["--config", "/nowhere.json"]))
        #expect(outcome.exitCode == 78)
        #expect(outcome.errors.contains("/nowhere.json"))
    }

    @Test func `connecting is a part of the check, after the settings are right`() throws {
        guard case .connect(let values, let outcome) = launch(["--check", "--connect"]) else {
            Issue.record("it tries nothing")
            return
        }
        #expect(values[Example.recordsMax] == 1000)
        #expect(outcome.output.contains("batch.records_max = 1000"))
        #expect(try self.outcome(launch(["--connect"], environment: [:])).exitCode == 64)
        let wrong = launch(["--check", "--connect"], environment: [:])
        #expect(try self.outcome(wrong).exitCode == 78)
    }

    @Test func `check warns of a variable that is nearly a setting, and of no other`() throws {
        let environment = Example.environment.merging([
            "BATCH_RECORD_MAX": "5", "BATCH_SERVICE_HOST": "10.0.0.1", "PATH": "/usr/bin",
        ]) { $1 }
        let outcome = try outcome(launch(["--check"], environment: environment))
        #expect(outcome.exitCode == 0)
        #expect(
            outcome.errors == "verify-worker: BATCH_RECORD_MAX (environment): "
                + "there is no such setting, did you mean BATCH_RECORDS_MAX?\n")
    }

    @Test func `check names the files of secrets and keys that every user may read`() throws {
        let (secret, key) = (try TemporaryFile("postgres://secret"), try TemporaryFile("key"))
        let apps =
            #"[{"bundle_id": "a.b", "environment": "Sandbox", "api_issuer_id": "i", "#
            + #""api_key_id": "k", "api_key_file": "\#(key.path)"}]"#
        let environment = ["KAFKA_BOOTSTRAP": "broker:9092", "POSTGRES_URL_FILE": secret.path, "APPS": apps]
        for (mode, named) in [(0o644, [key.path, secret.path]), (0o640, [])] as [(mode_t, [String])] {
            #expect(chmod(secret.path, mode) == 0 && chmod(key.path, mode) == 0)
            let outcome = try outcome(launch(["--check"], environment: environment))
            #expect(outcome.exitCode == 0)
            let lines = named.sorted().map { path in
                "verify-worker: \(path): every user of this machine may read this secret: chmod o-r \(path)\n"
            }
            #expect(outcome.errors == lines.joined())
        }
    }

    @Test func `check prints the settings of environment and file`() throws {
        let file = try TemporaryFile(#"{"batch": {"records_max": 9}}"#)
        let outcome = try outcome(launch(["--config", file.path, "--check"]))
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.contains("batch.records_max = 9"))
        #expect(!outcome.output.contains("postgres://"))
    }

    @Test func `the version needs no settings`() throws {
        let outcome = try outcome(launch(["--version"], environment: [:]))
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.hasPrefix("verify-worker \(Release.version), commit "))
        #expect(outcome.output.hasSuffix(", schema \(Release.schema)\n"))
    }

    @Test func `help needs no settings`() throws {
        let outcome = try outcome(launch(["--help"], environment: [:]))
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.hasPrefix("Usage: verify-worker"))
        #expect(outcome.output.contains("KAFKA_BOOTSTRAP"))
    }

    @Test func `the findings of a check are listed, and settings come before an outage`() {
        let outage = ConnectionFinding.wrong("Kafka", exitCode: ExitCode.unavailable, "no answer\nforged")
        let schema = ConnectionFinding.wrong("schema", exitCode: ExitCode.configuration, "version 3")
        let fine = ConnectionFinding.fine("database", "answers")
        #expect([fine].outcome(of: "x") == CommandOutcome(exitCode: 0, output: "ok     database: answers\n"))
        #expect([outage, fine].outcome(of: "x").exitCode == 69)
        let all = [outage, fine, schema].outcome(of: "x")
        #expect(all.exitCode == 78)
        #expect(all.output.hasPrefix("WRONG  Kafka: no answer\\u{a}forged\n"))
        #expect(all.output.hasSuffix("WRONG  schema: version 3\n"))
        #expect(all.errors == "x: 2 of 3 checks found something wrong\n")
    }
}
