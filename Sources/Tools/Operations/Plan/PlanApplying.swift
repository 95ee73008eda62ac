import AppStore
import Commands
import JSON
import Postgres
import Reports
import Settings
import Store

extension ToolCommand {
    static let planOptions = [
        CommandOption("plan", argument: "N", "Apply the catalog of this stored plan, exactly as it was planned."),
        CommandOption("hash", argument: "SHA256", "With --plan: the hash that the plan must have."),
        CommandOption(
            "allow-drift", argument: "PERCENT",
            "With --plan: apply it even if numbers differ from the plan by at most this, as facts came since."),
    ]

    /// Applies the catalog of a stored plan, if it would still do what was planned.
    static func apply(plan number: Int64, _ context: OperatorContext) async throws -> Int32 {
        let percent = try context.arguments.value("allow-drift", as: .int(1...100))
        let (plan, catalog, newest) = try await context.withDatabase { connection in
            (
                try await PlanTable.Stored.read(number, on: connection),
                try await connection.run(PlanTable.catalog, number).first ?? nil,
                try await connection.run(CatalogTable.newestVersion)[0] ?? 0
            )
        }
        if let hash = context.arguments.value("hash"), hash != plan.sha256 {
            throw CommandError(ExitCode.negative, "plan \(number) has another hash: \(plan.sha256)")
        }
        if let version = plan.head.appliedVersion {
            // A repetition after a lost answer has nothing left to do.
            let isInForce = version == newest
            context.console.print(
                "plan \(number) was applied as version \(version)"
                    + (isInForce ? "" : ", and version \(newest) holds now"))
            return ExitCode.answer(isInForce)
        }
        guard let catalog, plan.otherInputs.isEmpty else {
            throw CommandError(
                ExitCode.negative,
                "plan \(number) is not of a catalog alone; each of its inputs has a command of its own: "
                    + plan.inputCommands.joined(separator: ", "))
        }
        guard plan.head.catalogVersion == newest else { throw CatalogTable.Superseded(newest: newest) }
        let file = try CatalogFile(stored: catalog, "plan \(number)")
        let report = try await Planning(
            catalog: file.catalog, instants: plan.instants.map { .at(Timestamp($0)) }, now: plan.head.plannedAt
        ).run(context)
        guard try await confirm(plan, as: report, allowing: percent, context) else { return ExitCode.negative }
        return try await put(file, plan: number, after: newest, context)
    }

    /// Returns whether the catalog would still do what was planned, or what the caller allows; otherwise prints the
    /// differences and the facts that came since.
    private static func confirm(
        _ plan: PlanTable.Stored, as report: PlanReport, allowing percent: Int?, _ context: OperatorContext
    ) async throws -> Bool {
        guard plan.result.root["users_digest"]?.string != report.usersDigest else { return true }
        let numbers = PlanNumber.pairs(plan.result.root, JSONText(report.result.bytes).root)
        let differing = numbers.filter { $0.differs(byMoreThan: percent ?? 0) }
        if percent != nil, differing.isEmpty { return true }
        let since = Array(
            try await context.withDatabase { connection in
                try await connection.run(PlanTable.since, plan.head.plannedAt, deadline: Planning.countDeadline)
            })
        let came = since.map { "\($0.what) \($0.name): \(Quantity.grouped($0.count))" }
        context.console.print(
            [.table(TextTable(differing, PlanNumber.columns("now")))].filter { _ in !differing.isEmpty } + [
                .line("since then: \(came.isEmpty ? "no new facts" : came.joined(separator: ", "))")
            ])
        let difference = differing.isEmpty ? "as many users, but others" : "other numbers"
        context.console.note(
            "not applied: plan \(plan.head.number) would now concern \(difference); plan again, or --allow-drift PERCENT"
        )
        return false
    }
}

extension PlanTable.Stored {
    /// The inputs besides a catalog.
    var otherInputs: [String] { head.inputs.filter { $0 != "catalog" } }

    /// The command by which each input is applied.
    var inputCommands: [String] {
        head.inputs.map { input in
            switch input {
            case "catalog": "'pipeline catalog apply FILE'"
            case "links": "'pipeline link add --from FILE --move'"
            case "policy": "'pipeline link reapply' after link-worker has the setting linking.policy"
            default: "'pipeline \(input)'"
            }
        }
    }
}
