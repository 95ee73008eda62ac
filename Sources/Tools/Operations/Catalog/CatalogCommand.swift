import Commands
import Entitlements
import Settings
import Store

extension ToolCommand {
    static let catalogFormats =
        "FILE is in the product's own format (schemas/catalog) or an Xcode .storekit file. The "
        + "latter says neither how long a non-renewing subscription lasts nor what a consumable "
        + "credits: --with names a file in the own format whose products stand in the place of "
        + "those of FILE with the same IDs. A catalog has at most 16 MiB and 100,000 products."

    static let catalogCheck = ToolCommand(
        "catalog check",
        "Checks a product catalog and lists all its problems.\n\n\(catalogFormats)\n\nExit code 65 when there is one.",
        operands: "FILE", operandCount: 1...1, options: [.catalogWith, .allowEmpty]
    ) { context in
        context.console.print(try catalogFile(context.arguments.operands[0], context).summary)
        return ExitCode.success
    }

    static let catalogApply = ToolCommand(
        "catalog apply",
        "Checks a product catalog and puts it into force.\n\n"
            + "The workers apply it by themselves, also to what was bought before. The "
            + "same catalog once more changes nothing; former versions stay in catalog_versions. Where a user would "
            + "lose access or credits, nothing is applied without --yes, and the exit code is 1: 'pipeline plan' shows "
            + "who and why.\n\n\(catalogFormats)", operands: "FILE", operandCount: 1...1,
        options: [.catalogWith, .allowEmpty] + applyOptions
    ) { context in try await apply(try catalogFile(context.arguments.operands[0], context), context) }

    static let catalogRevert = ToolCommand(
        "catalog revert",
        "Puts the catalog before the one in force into force again, as a new version.\n\n"
            + "It is planned as by 'catalog apply': where a user would lose access or credits, such as a key that only "
            + "the present catalog grants, nothing is applied without --yes.", options: applyOptions
    ) { context in
        guard let former = try await context.withDatabase({ try await $0.run(CatalogTable.former).first }) else {
            throw CommandError(ExitCode.negative, "no catalog was applied before the one in force")
        }
        return try await apply(try CatalogFile(stored: former), context)
    }

    private static let applyOptions = [
        CommandOption("yes", "Apply it even if users lose access or credits."),
        CommandOption("by", argument: "NAME", "Who asks for it, for the history."),
        CommandOption("reason", argument: "TEXT", "Why, for the history."), .postgres, .config,
    ]

    /// Applies a catalog by which no user loses anything, or any with `--yes`.
    private static func apply(_ file: CatalogFile, _ context: OperatorContext) async throws -> Int32 {
        if !context.arguments.isSet("yes") {
            let report = try await Planning(catalog: file.catalog).run(context)
            guard report.isHarmless else {
                context.console.print(report.head)
                context.console.note(
                    "not applied: users would lose access or credits; 'pipeline plan --catalog' has samples, and --yes "
                        + "applies it")
                return ExitCode.negative
            }
        }
        let outcome = try await context.withDatabase { connection in
            try await CatalogTable.apply(
                file.content, by: context.arguments.value("by"), reason: context.arguments.value("reason"),
                on: connection)
        }
        let state = outcome.isNew ? "applied as" : "holds already as"
        context.console.print("\(file.summary); \(state) version \(outcome.version)")
        return ExitCode.success
    }

    /// Reads the catalog file and the file that completes it, and prints remarks about its entries.
    ///
    /// - Throws: an error for a file that is no catalog, and for a catalog without products unless
    ///   an option allows it: a truncated or filtered export would remove the keys of every
    ///   product.
    static func catalogFile(_ path: String, _ context: OperatorContext) throws(CommandError) -> CatalogFile {
        let arguments = context.arguments
        var file = try CatalogFile(path: path)
        if let path = arguments.value("with") { file = try CatalogFile(file, completedBy: CatalogFile(path: path)) }
        guard !file.catalog.products.isEmpty || arguments.isSet("allow-empty") else {
            throw CommandError(ExitCode.data, "\(path) names no product; --allow-empty if that is meant")
        }
        for remark in file.remarks { context.console.note(remark) }
        return file
    }
}

extension CommandOption {
    static let catalogWith = CommandOption("with", argument: "FILE", "A catalog that completes the first one.")

    static let allowEmpty = CommandOption(
        "allow-empty", "Take a catalog without products, which ends what products grant by name.")
}
