import AppStore
import Commands
import Entitlements
import JSON
import Postgres
import Reports
import Settings
import Store

extension ToolCommand {
    static let planShow = ToolCommand(
        "plan show",
        "Shows a stored plan, and what became of it.\n\n"
            + "While entitle-worker applies its catalog: how far it is. Afterwards: the numbers of the plan beside those "
            + "of the changes that the catalog made, which also tell what facts since then did to the same users. "
            + "Balances and products are in the plan alone.", operands: "N", operandCount: 1...1,
        options: [.postgres, .config, .wide, .json]
    ) { context in
        guard let number = Int64(context.arguments.operands[0]) else { throw UsageError("expected a plan's number") }
        let report = try await context.withDatabase { connection in
            try await PlanOutcome(of: PlanTable.Stored.read(number, on: connection), on: connection)
        }
        context.console.print(report, context.arguments)
        return ExitCode.success
    }

    static let planList = ToolCommand(
        "plan list", "Lists stored plans, the newest first; the newest 1,000 are kept, and those that were applied.",
        options: [
            CommandOption("limit", argument: "N", "Maximum plans; 20 unless given."), .postgres, .config, .wide, .json,
        ]
    ) { context in
        let limit = try context.arguments.value("limit", as: .int(1...1_000)) ?? 20
        let plans = Array(try await context.withDatabase { try await $0.run(PlanTable.list, (nil, limit)) })
        context.console.print(plans, PlanTable.Listed.columns, context.arguments)
        return context.found(plans.count, "plan")
    }
}

/// A stored plan, the progress of its application, and its result.
struct PlanOutcome: Report {
    private let plan: PlanTable.Stored
    private let state: PlanState
    /// The numbers of the plan; beside them those of the changes, once all rows are projected.
    private var numbers: [PlanNumber]

    init(of plan: PlanTable.Stored, on connection: PostgresConnection) async throws {
        self.plan = plan
        state = try await PlanState(of: plan.head, on: connection)
        let planned = plan.result.root
        numbers = PlanNumber.pairs(planned, planned)
        guard let version = plan.head.appliedVersion, state.isProjected else { return }
        let happened = try await PlanReport.happened(by: version, as: plan, on: connection)
        numbers = PlanNumber.pairs(planned, JSONText(happened.result.bytes).root, of: PlanNumber.historical)
    }

    var json: JSONContent {
        let head = plan.head
        let applied: JSONContent? = head.appliedVersion.map { version in
            [
                "version": version, "applied_at": head.appliedAt, "by": head.appliedBy,
                "is_in_force": version == state.projection.newest, "is_projected": state.isProjected,
                "transactions_done": state.progress?.done, "transactions": state.progress?.total,
                "outcome": state.isProjected
                    ? JSONContent.array(numbers.map { JSONContent($0, PlanNumber.columns("happened")) }) : .null,
            ]
        }
        return [
            "plan": head.number, "sha256": plan.sha256, "planned_at": head.plannedAt, "planned_by": head.plannedBy,
            "requested_by": head.requestedBy, "reason": head.reason, "version": head.catalogVersion,
            "input": JSONContent(head.input.root), "result": JSONContent(plan.result.root), "applied": applied,
        ]
    }

    var parts: [TextPart] {
        let head = plan.head
        var parts: [TextPart] = [
            .line(
                "plan \(head.number) of \(Timestamp(head.plannedAt).toSecond) by \(head.maker): "
                    + "\(head.inputs.joined(separator: ", ")), against "
                    + (head.catalogVersion == 0 ? "no catalog" : "catalog version \(head.catalogVersion)")),
            .line("sha256 \(plan.sha256)"),
        ]
        if let reason = head.reason { parts.append(.line("reason: \(reason)")) }
        let differing = state.isProjected ? numbers.count { $0.planned != $0.later } : 0
        let outcome = differing == 0 ? "as planned" : "\(Quantity.counted(differing, "number")) differ from the plan"
        parts.append(.line(state.text(outcome), isBad: differing > 0))
        guard !numbers.isEmpty else { return parts }
        let table =
            state.isProjected
            ? TextTable(numbers, PlanNumber.columns("happened")) { $0.planned != $0.later }
            : TextTable(numbers, Array(PlanNumber.columns("happened").dropLast()))
        return parts + [.blank, .table(table)]
    }
}
