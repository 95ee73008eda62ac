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
            + "same catalog once more changes nothing; former versions stay in catalog_versions. It is planned before, "
            + "as by 'pipeline plan': where a user would lose access or credits, nothing is applied without --plan or "
            + "--yes, and the exit code is 1. --plan N applies the catalog of that plan if no other came into force "
            + "since, and if it would still do the same to the same users.\n\n\(catalogFormats)", operands: "[FILE]",
        operandCount: 0...1, options: [.catalogWith, .allowEmpty] + planOptions + applyOptions
    ) { context in
        let number = try context.arguments.value("plan", as: .int(1...Int.max))
        let file = context.arguments.operands.first
        switch (number, file) {
        case (let number?, nil):
            guard !context.arguments.isSet("yes") else { throw UsageError("--yes applies a FILE without a plan") }
            return try await apply(plan: Int64(number), context)
        case (nil, let file?):
            if context.arguments.value("hash") ?? context.arguments.value("allow-drift") != nil {
                throw UsageError("--hash and --allow-drift are of a --plan")
            }
            return try await apply(try catalogFile(file, context), context)
        default: throw UsageError("expected either FILE or --plan N")
        }
    }

    static let catalogRevert = ToolCommand(
        "catalog revert",
        "Puts the catalog before the one in force into force again, as a new version.\n\n"
            + "It is planned as by 'catalog apply': where a user would lose access or credits, such as a key that only "
            + "the present catalog grants, nothing is applied without 'catalog apply --plan' or --yes.",
        options: applyOptions
    ) { context in
        guard let former = try await context.withDatabase({ try await $0.run(CatalogTable.former).first }) else {
            throw CommandError(ExitCode.negative, "no catalog was applied before the one in force")
        }
        return try await apply(try CatalogFile(stored: former, "the catalog before"), context)
    }

    private static let applyOptions = [
        CommandOption("yes", "Apply it even if users lose access or credits."), .by, .reason, .postgres, .config,
    ]

    /// Applies a catalog by which no user loses anything, or any with `--yes`.
    private static func apply(_ file: CatalogFile, _ context: OperatorContext) async throws -> Int32 {
        guard !context.arguments.isSet("yes") else { return try await put(file, context) }
        let report = try await Planning(catalog: file.catalog).store(file.content, context)
        guard report.isHarmless else {
            context.console.print(report.head)
            context.console.note("not applied: users would lose access or credits")
            let plan = report.stored.map { "'pipeline catalog apply --plan \($0.number)' applies exactly this, " } ?? ""
            context.console.note("'pipeline plan --catalog' has samples; \(plan)--yes applies whatever FILE does")
            return ExitCode.negative
        }
        return try await put(file, plan: report.stored?.number, after: report.force.version, context)
    }

    /// Puts a catalog into force.
    ///
    /// - Parameter expected: the version in force when it was planned.
    static func put(_ file: CatalogFile, plan: Int64? = nil, after expected: Int64? = nil, _ context: OperatorContext)
        async throws -> Int32
    {
        let (by, reason) = try context.signature()
        let outcome = try await context.withDatabase { connection in
            try await CatalogTable.apply(
                file.content, after: expected, plan: plan, by: by, reason: reason, on: connection)
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

    static let by = CommandOption("by", argument: "NAME", "Who asks for it, for the history.")
    static let reason = CommandOption("reason", argument: "TEXT", "Why, for the history.")

    static let allowEmpty = CommandOption(
        "allow-empty", "Take a catalog without products, which ends what products grant by name.")
}
