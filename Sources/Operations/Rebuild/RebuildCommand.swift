import AppStore
import Database
import EntitleStage
import Entitlements
import JSON
import Postgres
import Settings

extension PipelineCommand {
    /// `pipeline rebuild`.
    static let rebuild = PipelineCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) rebuild",
            "Projects all facts again and shows where the rows differ, which must be nowhere.\n\n"
                + "Runs beside the workers: each purchase is compared under the locks that they "
                + "take. Nothing is written unless --replace is given. Exit code 1 when there was "
                + "a difference.",
            options: [
                CommandOption("replace", "Write what follows from the facts where rows differ."),
                ToolSettings.postgresOption, ToolSettings.configOption, ToolSettings.jsonOption,
            ]
        ),
        run: rebuild
    )

    private static func rebuild(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(arguments, context.environment, .database)
        let client = DatabaseSettings.client(settings, applicationName: PipelineTool.name)
        let rebuilding = Rebuilding(client: client, isReplacing: arguments.isSet("replace"))
        var progress = ProgressLine(console: context.console)
        let isJSON = arguments.isSet("json")
        let report: RebuildReport
        do {
            report = try await rebuilding.run { differences, count in
                progress.clear()
                for difference in differences {
                    context.console.print(isJSON ? difference.json : difference.line)
                }
                progress.show("comparing", Quantity.counted(count, "purchase"))
            }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
        progress.clear()
        context.console.print(isJSON ? report.json : report.line)
        return report.differenceCount == 0 ? ExitCode.success : ExitCode.negative
    }
}

/// Goes through all purchases in the order of their IDs.
struct Rebuilding {
    let client: PostgresClient
    let isReplacing: Bool

    /// How many are locked at once.
    private static let purchasesMax = 200

    /// - Parameter found: told of each part's differences, and how many purchases were compared.
    func run(
        _ found: ([RowDifference], Int) -> Void
    ) async throws -> RebuildReport {
        let reprojector = Reprojector(client: client)
        var report = RebuildReport(isReplaced: isReplacing)
        var last = (id: "", environment: "")
        while true {
            let rows = try await client.query(
                Self.next,
                [.text(last.id), .text(last.environment), .int8(Int64(Self.purchasesMax))]
            )
            let purchases = rows.map { row in
                PurchaseKey(
                    environment: Environment(rawValue: row.text(1)),
                    bundleID: "",
                    originalTransactionID: row.text(0)
                )
            }
            guard let end = purchases.last else { return report }
            last = (end.originalTransactionID, end.environment.rawValue)
            let differences = try await reprojector.run(
                purchases,
                kind: .rebuild,
                isReplacing: isReplacing
            )
            report.purchaseCount += purchases.count
            report.differenceCount += differences.count
            found(differences, report.purchaseCount)
        }
    }

    /// Also rows to which there are no facts.
    private static let next = """
        SELECT original_transaction_id, environment FROM (
            (SELECT DISTINCT original_transaction_id, environment FROM transactions
             WHERE (original_transaction_id, environment) > ($1, $2) ORDER BY 1, 2 LIMIT $3)
            UNION
            (SELECT DISTINCT original_transaction_id, environment FROM entitlements
             WHERE (original_transaction_id, environment) > ($1, $2) ORDER BY 1, 2 LIMIT $3)
            UNION
            (SELECT DISTINCT original_transaction_id, environment FROM ledger
             WHERE (original_transaction_id, environment) > ($1, $2) ORDER BY 1, 2 LIMIT $3)
        ) AS known
        ORDER BY 1, 2 LIMIT $3
        """
}
