import AppStore
import Commands
import Entitlements
import Settings

extension ToolCommand {
    static let plan = ToolCommand(
        "plan",
        "Shows what a catalog, links or a policy of linking would change for users, and changes nothing.\n\n"
            + "Every purchase of a product that differs is projected by the new catalog, and every purchase by the owner "
            + "that it would have with --linking.policy and --link-file; from one snapshot of the "
            + "database, without a lock that a worker waits for. Users are counted by key: who would lose it, gain "
            + "it, or have it until an earlier or later end, by all of their purchases and grants together; balances "
            + "by currency. Samples show the rules behind a user's access in both catalogs.\n\n\(catalogFormats)\n\nExit "
            + "code 1 when --fail-if-lost says so.",
        options: [
            CommandOption("catalog", argument: "FILE", "The catalog; the one in force unless given."), .catalogWith,
            .allowEmpty, CommandOption("linking.policy", argument: "POLICY", "The policy that link-worker would have."),
            CommandOption(
                "link-file", argument: "FILE", "Links that would be added or moved, as for 'link add --from --move'."),
            CommandOption(
                "at", argument: "LIST",
                "The instants at which users are counted, such as now,+30d,2027-01-01; now unless given."),
            CommandOption("samples", argument: "N", "Maximum samples of each effect; 10 unless given."),
            CommandOption("user", argument: "USER", "Take samples of this user alone."),
            CommandOption("fail-if-lost", argument: "N", "End with 1 if N or more users would lose a key."), .postgres,
            .config, .wide, .json,
        ]
    ) { context in
        let arguments = context.arguments
        let instants = try arguments.value("at", as: .planInstants) ?? [.now]
        let samplesMax = try arguments.value("samples", as: .int(0...1_000)) ?? 10
        let failing = try arguments.value("fail-if-lost", as: .int(1...1_000_000_000))
        let catalog = try arguments.value("catalog").map { try catalogFile($0, context).catalog }
        let policy: OwnershipPolicy? = try arguments.value("linking.policy", as: .choice)
        let links = try arguments.value("link-file").map { try LinkSource(of: $0) }
        if catalog == nil, arguments.value("with") != nil { throw UsageError("--with completes a --catalog") }
        guard catalog != nil || policy != nil || links != nil else {
            throw UsageError("expected at least one of --catalog, --linking.policy and --link-file")
        }
        let planning = Planning(
            catalog: catalog, policy: policy, links: links, instants: instants, samplesMax: samplesMax,
            userID: arguments.value("user").map { Identifier($0) }, listsProducts: true)
        let report = try await planning.run(context)
        context.console.print(report, arguments)
        return ExitCode.answer(failing.map { report.lostMax < $0 } ?? true)
    }
}

extension Planning {
    /// Plans on the configured database, and shows the progress.
    func run(_ context: OperatorContext) async throws -> PlanReport {
        var progress = ProgressLine(console: context.console)
        let report = try await context.withDatabase { connection in
            try await run(on: connection) { step, count in
                progress.show(step.rawValue, done: count, step == .linking ? "purchase" : "transaction")
            }
        }
        progress.clear()
        return report
    }
}

extension SettingKind where Value == [PlanInstant] {
    static var planInstants: SettingKind {
        .list("list of instants", expected: "instants such as now,+30d,2027-01-01", countMin: 1) { text in
            if text == "now" { return .now }
            if text.hasPrefix("+") {
                let ahead = SettingKind<Duration>.duration(.milliseconds(1)...(.seconds(36_500 * 86_400)))
                return (try? ahead.read(.text(String(text.dropFirst())))).map { .after($0) }
            }
            return (try? SettingKind<Timestamp>.instant.read(.text(text))).map { .at($0) }
        }
    }
}
