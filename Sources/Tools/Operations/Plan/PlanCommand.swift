import AppStore
import Commands
import Entitlements
import Settings

extension ToolCommand {
    static let plan = ToolCommand(
        "plan",
        "Shows what a catalog, links, a policy of linking, forgetting a user, apps or this version would change.\n\n"
            + "Every purchase of a product that differs is projected by the new catalog, and every purchase that would "
            + "have another owner with --linking.policy, --forget and --link-file; from one snapshot of the "
            + "database, without a lock that a worker waits for. Users are counted by key, product and rule: who would "
            + "lose a key, gain it, or have it until an earlier or later end, by all of their purchases and grants "
            + "together; balances by currency. Samples show the rules behind a user's access in both catalogs. "
            + "The plan is stored with a number: 'catalog apply --plan' applies exactly it, 'plan show' follows that."
            + "\n\n\(catalogFormats)\n\n"
            + "A limit of --fail-if compares the numbers of the JSON, such as 'lost > 0 and key = \"pro\"', 'overdrawn > "
            + "0' or 'rows > 100000', with =, !=, <, <=, > and >=; one element of a list has to meet it.\n\nWith "
            + "--apps, which goes with no other plan, the bodies that raw and the dead letters still hold are verified "
            + "with the present apps and with the given ones, and the verdicts that would change are listed by reason "
            + "and app. No responder is asked for revocation. With --facts, which goes alone, each row is listed that "
            + "this version derives otherwise from what Apple signed.\n\nExit code 1 when a limit is met, nothing is "
            + "known of the user of --forget, --apps finds no body, or --facts finds a difference.",
        options: [
            CommandOption("catalog", argument: "FILE", "The catalog; the one in force unless given."), .catalogWith,
            .allowEmpty, CommandOption("linking.policy", argument: "POLICY", "The policy that link-worker would have."),
            CommandOption(
                "link-file", argument: "FILE", "Links that would be added or moved, as for 'link add --from --move'."),
            CommandOption("forget", argument: "USER", "The user who would be forgotten, as by 'forget'."),
            CommandOption(
                "at", argument: "LIST",
                "The instants at which users are counted, such as now,+30d,2027-01-01; now unless given."),
            CommandOption("samples", argument: "N", "Maximum samples of each effect; 10 unless given."),
            CommandOption("user", argument: "USER", "Take samples of this user alone."),
            CommandOption("fail-if-lost", argument: "N", "End with 1 if N or more users would lose a key."),
            CommandOption(
                "fail-if", argument: "LIMIT", isRepeatable: true,
                "End with 1 if the plan meets this limit; may be given several times."), .by, .reason, .postgres,
            .config, .wide, .json,
        ] + CommandOption.appsPlan + [.factsPlan]
    ) { context in
        let arguments = context.arguments
        if let path = arguments.value("apps") { return try await context.planApps(path) }
        if arguments.isSet("facts") { return try await context.planFacts() }
        if arguments.isSet("fail-if-refused") { throw UsageError("--fail-if-refused goes with --apps") }
        let instants = try arguments.value("at", as: .planInstants) ?? [.now]
        let samplesMax = try arguments.value("samples", as: .int(0...1_000)) ?? 10
        let lost = try arguments.value("fail-if-lost", as: .int(1...1_000_000_000))
        let limits = try (arguments.values("fail-if") + (lost.map { ["lost >= \($0)"] } ?? [])).map {
            try PlanLimit($0)
        }
        let catalog = try arguments.value("catalog").map { try catalogFile($0, context) }
        let policy: OwnershipPolicy? = try arguments.value("linking.policy", as: .choice)
        let links = try arguments.value("link-file").map { try LinkSource(of: $0) }
        if catalog == nil, arguments.value("with") != nil { throw UsageError("--with completes a --catalog") }
        let forgotten = arguments.value("forget").map { Identifier($0) }
        guard catalog != nil || policy != nil || links != nil || forgotten != nil else {
            throw UsageError("expected at least one of --catalog, --linking.policy, --link-file and --forget")
        }
        let planning = Planning(
            catalog: catalog?.catalog, policy: policy, forgotten: forgotten, links: links, instants: instants,
            samplesMax: samplesMax, userID: arguments.value("user").map { Identifier($0) }, listsProducts: true)
        let report = try await planning.store(catalog?.content, context)
        context.console.print(report, arguments)
        let met = limits.compactMap { limit in report.element(meeting: limit).map { "\(limit.text): \($0)" } }
        if !met.isEmpty { context.console.note("limits met:\n\(met.joined(separator: "\n"))") }
        return ExitCode.answer(met.isEmpty && report.forgotten?.isKnown ?? true)
    }
}

extension Planning {
    /// Plans on the configured database, and shows the progress.
    func run(_ context: OperatorContext) async throws -> PlanReport {
        var progress = ProgressLine(console: context.console)
        let report = try await context.withDatabase { connection in
            try await run(on: connection) { step, count in progress.show(step.rawValue, done: count, step.unit) }
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
