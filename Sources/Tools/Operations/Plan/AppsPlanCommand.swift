import AppStore
import Commands
import DeadLetters
import JSON
import Platform
import Records
import Settings
import Topology

extension CommandOption {
    /// The options that go with `--apps`; the others are about the database.
    static let appsPlan =
        [
            CommandOption(
                "apps", argument: "FILE",
                "Verify what Kafka still holds with these apps: a list as APPS has it, or a file of settings with one."),
            CommandOption(
                "fail-if-refused", argument: "N", "With --apps: end with 1 if N or more bodies would be refused."),
        ] + CommandOption.kafka
}

extension OperatorContext {
    /// Plans other apps, and prints the verdicts that would change.
    ///
    /// - Parameter path: the file of the planned apps.
    func planApps(_ path: String) async throws -> Int32 {
        try refuseOptions(besides: CommandOption.appsPlan.map(\.long) + ["samples"], with: "apps")
        let samplesMax = try arguments.value("samples", as: .int(0...1_000)) ?? 10
        let failing = try arguments.value("fail-if-refused", as: .int(1...1_000_000_000))
        let (present, planned) = (try verifySettings(), try verifySettings(apps: PlannedApps.list(in: path)))
        let kafka = try settings(.kafka)
        let planning = AppsPlanning(
            present: try VerifierConfiguration(present), planned: try VerifierConfiguration(planned),
            reader: TopicReader(kafka.kafkaConfiguration), rawTopic: kafka.topic(Topic.raw),
            letters: DeadLetterTopic(name: kafka.topic(Topic.deadLetter), configuration: kafka.kafkaConfiguration),
            samplesMax: samplesMax)
        var progress = ProgressLine(console: console)
        var report = try await planning.run { step, done, total in
            progress.show(step.rawValue, done: done, of: total, "record")
        }
        progress.clear()
        report.isRevocationUnasked = RevocationPolicy(present) != nil
        console.print(report, arguments)
        guard report.bodyCount > 0 else {
            console.note("Kafka holds no body, so nothing is known about these apps")
            return ExitCode.negative
        }
        return ExitCode.answer(failing.map { report.refusedCount < $0 } ?? true)
    }

    /// Lists the rows that this version derives otherwise from what Apple signed.
    func planFacts() async throws -> Int32 {
        try refuseOptions(besides: ["facts", "postgres"], with: "facts")
        return try await rebuild(isReplacing: false)
    }

    private func refuseOptions(besides known: [String], with option: String) throws(UsageError) {
        let known = Set(known + [CommandOption.config, .wide, .json].map(\.long))
        guard let other = arguments.options.keys.sorted().first(where: { !known.contains($0) }) else { return }
        throw UsageError("--\(other) does not go with --\(option)")
    }

    /// The settings of `verify-worker`, from the same sources as its own.
    ///
    /// - Parameter apps: the JSON list that replaces `apps`; `nil` for the present one.
    private func verifySettings(apps: String? = nil) throws(SettingsError) -> SettingsValues {
        let schema = SettingsSchema(VerifySettings.declarations, takesKafkaProperties: false, ignoresUnknown: true)
        return try schema.read(
            arguments.with("apps", apps, operands: []), environment: process.environment,
            overrides: [("apps", VerifySettings.apps.declaration)])
    }
}

/// The file of planned apps.
enum PlannedApps {
    /// Returns the JSON list of a file, which is the list alone, or settings with the member `apps`.
    static func list(in path: String) throws(CommandError) -> String {
        guard let bytes = FileBytes.read(path) else {
            throw CommandError(
                ExitCode.noInput, "\(path): expected a JSON file that this process can read, at most 4MiB")
        }
        let root: JSONValue
        do { root = try JSONDocument(parsing: bytes).root } catch {
            throw CommandError(ExitCode.data, "\(path): \(error.explanation(in: bytes))")
        }
        let list = root.kind == .object ? root["apps"] : root
        guard let list, list.kind == .array else {
            throw CommandError(
                ExitCode.data, "\(path): expected a list of apps, or an object of settings with the list apps")
        }
        return String(decoding: list.rawBytes, as: UTF8.self)
    }
}
