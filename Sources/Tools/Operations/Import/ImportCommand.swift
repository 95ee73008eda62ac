import AppStore
import Commands
import JSON
import Kafka
import Postgres
import Records
import Settings
import Store

extension ToolCommand {
    static let importPurchases = ToolCommand(
        "import",
        "Moves customers in from another system: links them, and asks Apple for their purchases.\n\n"
            + "FILE is a table of separated values (RFC 4180), \"-\" for standard input, whose first line names "
            + "its columns; those of RevenueCat's scheduled data exports are known. Nothing of it is believed but "
            + "whose a purchase is: recovery-worker asks Apple for each customer's transactions and refunds, and "
            + "bodies are published and verified as any other. It may be run again at any time. Exit code 1 where a "
            + "purchase or token has another user, and with --status where a customer is not whole.",
        operands: "[FILE]", operandCount: 0...1,
        options: [
            CommandOption(
                "columns", argument: "NAME=COLUMN,…",
                "Other names of columns; a NAME is one of \(ImportColumns.Role.names)."),
            CommandOption("move", "Take purchases and tokens from the users who have them now."),
            CommandOption("status", "Show how far the import is, instead."),
            CommandOption("limit", argument: "N", "Maximum customers that --status lists; 20 unless given."),
            .environment, CommandOption("bundle", argument: "ID", "The app of lines that name none."),
            CommandOption("reason", argument: "TEXT", "Why, for the history. Required with FILE."),
            CommandOption("by", argument: "NAME", "Who imports. Required with FILE."),
        ] + CommandOption.kafka + [.postgres, .config, .json, .wide]
    ) { context in
        guard !context.arguments.isSet("status") else { return try await ImportReport.show(context) }
        guard let path = context.arguments.operands.first else { throw UsageError("expected a FILE, or --status") }
        _ = try ImportColumns.chosen(context.arguments.value("columns"))
        return try await Import(context).run(path)
    }
}

/// Writes the links and questions of a foreign table.
private struct Import {
    private let context: OperatorContext
    private let act: AccountLinkTable.Act
    private let mayMove: Bool
    /// Maximum links that the report names.
    private static let othersShown = 20

    init(_ context: OperatorContext) throws {
        self.context = context
        act = (by: try context.required("by"), reason: try context.required("reason"))
        mayMove = context.arguments.isSet("move")
    }

    private struct Counts {
        var lines = 0, links = 0, customers = 0, bodies = 0, withoutUser = 0
        /// Links that another user has.
        var others: [(link: AccountLink, userID: Identifier)] = []
        var othersCount = 0
    }

    func run(_ path: String) async throws -> Int32 {
        let environment = Environment(rawValue: try context.environment())
        var counts = Counts()
        let passed = try await context.withDatabase { connection in
            let apps = Set(try await connection.run(RecoveryWindowTable.states).map(\.app))
            guard !apps.isEmpty else { throw UsageError("recovery-worker has never asked about an app") }
            var source = try ImportSource(
                path, columns: context.arguments.value("columns"), apps: apps, environment: environment,
                bundle: context.arguments.value("bundle"))
            let producer = source.columns.hasBodies ? try await producer() : nil
            var progress = ProgressLine(console: context.console)
            do {
                while let batch = try source.next() {
                    try await link(batch, on: connection, &counts)
                    if let producer { try await publish(batch, of: path, by: producer, &counts) }
                    let asked = Set(batch.flatMap { line in line.ids.flatMap { AppleQuestions.history(line.app, $0) } })
                    counts.customers += try await connection.run(ImportTable.add, Array(asked)).count / 2
                    counts.lines += batch.count
                    progress.show("importing", done: counts.lines, "line")
                }
            } catch {
                await producer?.close(deadline: .seconds(5))
                throw error
            }
            await producer?.close(deadline: .seconds(5))
            progress.clear()
            return source.passed
        }
        show(counts, passed)
        return counts.othersCount > 0 ? ExitCode.negative : ExitCode.found(counts.lines)
    }

    private func link(_ batch: [ImportSource.Line], on connection: PostgresConnection, _ counts: inout Counts)
        async throws
    {
        counts.withoutUser += batch.count(where: \.isWithoutUser)
        var seen: Set<AccountLink> = []
        let given = batch.flatMap { line in line.links.map { (link: $0, app: line.app) } }.filter {
            seen.insert($0.link).inserted
        }
        let questions = given.enumerated().map { index, one -> AccountLinkTable.Question in
            (one.link.kind, one.app.environment, one.app.bundleID, one.link.key)
        }
        var users: [Int: Identifier] = [:]
        for found in try await connection.run(AccountLinkTable.find, questions) { users[found.index] = found.userID }
        var new: [AccountLink] = []
        for (index, one) in given.enumerated() {
            guard let user = users[index], user == one.link.userID || !mayMove else {
                new.append(one.link)
                continue
            }
            guard user != one.link.userID else { continue }
            counts.othersCount += 1
            if counts.others.count < Self.othersShown { counts.others.append((one.link, user)) }
        }
        counts.links += try await AccountLinkTable.add(new, mayMove: mayMove, act, on: connection).count
    }

    private func producer() async throws -> KafkaProducer {
        let settings = try context.settings(.kafka)
        try await ToolCommand.requireTopic(settings.topic(Topic.raw), settings.kafkaConfiguration)
        return try KafkaProducer(
            configuration: settings.kafkaConfiguration, isUncompressed: { Topic.isUncompressed($0) })
    }

    private func publish(
        _ batch: [ImportSource.Line], of path: String, by producer: KafkaProducer, _ counts: inout Counts
    ) async throws {
        let topic = try context.settings(.kafka).topic(Topic.raw)
        var publisher = Publisher(producer, topic: topic)
        for line in batch {
            guard let body = line.body else { continue }
            await publisher.add(
                ProducerRecord(topic: topic, value: body),
                origin: BodyOrigin(BodySource.name(of: path), line: line.number))
        }
        let report = await publisher.finish()
        counts.bodies += report.acknowledgedCount
        guard let failure = report.failures.first else { return }
        throw CommandError(
            report.isClusterAtFault ? ExitCode.unavailable : ExitCode.data,
            "\(failure.origin): not published: \(failure.error); run it again to go on")
    }

    private func show(_ counts: Counts, _ passed: ImportSource.Passed) {
        let others = counts.others.map { link, user -> JSONContent in
            ["kind": link.kind.rawValue, "key": link.key, "user": user, "imported_user": link.userID]
        }
        let json: JSONContent = [
            "lines": counts.lines, "links": counts.links, "customers": counts.customers, "bodies": counts.bodies,
            "without_user": counts.withoutUser, "other_stores": passed.otherStores, "other_apps": passed.otherApps,
            "left_to_others": counts.othersCount, "others": others,
        ]
        context.print(json) { console in
            for (link, user) in counts.others {
                console.print(
                    "left to \(user): \(link.kind.rawValue) \(link.key), imported for \(link.userID)", isBad: true)
            }
            console.print(
                "\(Quantity.counted(counts.lines, "line")) read, \(Quantity.counted(counts.links, "link")) written, "
                    + "\(Quantity.counted(counts.customers, "customer")) to ask Apple about, "
                    + "\(Quantity.counted(counts.bodies, "body", "bodies")) published")
            func note(_ count: Int, _ what: String) {
                if count > 0 { console.print("\(Quantity.counted(count, "line")) \(what)") }
            }
            note(counts.withoutUser, "without a user")
            note(passed.otherStores, "of other stores passed over")
            note(passed.otherApps, "passed over: recovery-worker does not ask about the app and environment")
            guard counts.othersCount > 0 else { return }
            console.print("\(Quantity.counted(counts.othersCount, "link")) left to other users; --move takes them")
        }
    }
}
