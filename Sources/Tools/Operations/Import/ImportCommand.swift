import AppStore
import Commands
import JSON
import Kafka
import Platform
import Postgres
import Records
import Settings
import Store

extension ToolCommand {
    static let importPurchases = ToolCommand(
        "import",
        "Moves customers in from another system: links them, and asks Apple for their purchases.\n\n"
            + "FILE is a table of separated values (RFC 4180), \"-\" for standard input, whose first line names "
            + "its columns; those of RevenueCat's scheduled data exports are known. Only the user of a purchase is "
            + "taken from it: recovery-worker asks Apple for each customer's transactions and refunds, and bodies "
            + "are published and verified like any other. Run again, it repeats only the questions that Apple "
            + "refused or whose ID it did not know. Exit code 1 if a purchase or token has another user, and with --status if a "
            + "customer is not whole.", operands: "[FILE]", operandCount: 0...1,
        options: [
            CommandOption(
                "columns", argument: "NAME=COLUMN,…",
                "Other names of columns; a NAME is one of \(ImportColumns.Role.names)."),
            CommandOption("move", "Take purchases and tokens from the users who have them now."),
            CommandOption("status", "Show the states of the imported customers instead."),
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

/// Writes the links and questions of a foreign table, and publishes its bodies.
private struct Import {
    private let context: OperatorContext
    private let act: AccountLinkTable.Act
    private let mayMove: Bool
    private var lines = 0, links = 0, customers = 0, bodies = 0, withoutUser = 0, othersCount = 0
    /// The first links that other users have and keep.
    private var others: [(link: AccountLink, userID: Identifier)] = []

    private static let othersShown = 20

    init(_ context: OperatorContext) throws {
        self.context = context
        act = (by: try context.required("by"), reason: try context.required("reason"))
        mayMove = context.arguments.isSet("move")
    }

    /// Imports a table; lines before an error stay written, and may be written again.
    func run(_ path: String) async throws -> Int32 {
        try await context.withDatabase { connection in
            let apps = Set(try await connection.run(RecoveryWindowTable.states).map(\.app))
            guard !apps.isEmpty else { throw UsageError("recovery-worker has never asked about an app") }
            let environment = Environment(rawValue: try context.environment())
            let source = try ImportSource(path, context.arguments, apps: apps, environment: environment)
            var run = self
            guard source.columns.hasBodies else { return try await run.run(source, nil, on: connection) }
            let kafka = try context.settings(.kafka)
            let topic = kafka.topic(Topic.raw)
            let producer = try await ToolCommand.producer(of: topic, kafka.kafkaConfiguration)
            return try await closing {
                await producer.close(deadline: .seconds(5))
            } after: {
                try await run.run(source, (producer, topic), on: connection)
            }
        }
    }

    private mutating func run(
        _ source: ImportSource, _ target: (producer: KafkaProducer, topic: String)?, on connection: PostgresConnection
    ) async throws -> Int32 {
        var source = source
        var progress = ProgressLine(console: context.console)
        while let batch = try source.next() {
            do { try await link(batch, on: connection) } catch is AccountLinkTable.LinkedToOthers {
                // Somebody has just written one of these links, which is found now.
                try await link(batch, on: connection)
            }
            if let target { try await publish(batch, of: source.name, to: target.topic, by: target.producer) }
            let asked = Set(batch.flatMap { line in line.ids.flatMap { AppleQuestions.history(line.app, $0) } })
            customers += Set(try await connection.run(ImportTable.add, Array(asked))).count
            lines += batch.count
            withoutUser += batch.count(where: \.links.isEmpty)
            progress.show("importing", done: lines, "line")
        }
        progress.clear()
        show(source)
        return othersCount > 0 ? ExitCode.negative : ExitCode.found(lines)
    }

    /// Writes the links of a batch; of several users of a purchase or token the first counts, with `mayMove` the last.
    private mutating func link(_ batch: [ImportSource.Line], on connection: PostgresConnection) async throws {
        let given = batch.flatMap { line in line.links.map { (link: $0, app: line.app) } }
        let questions = given.map { link, app -> AccountLinkTable.Question in
            (link.kind, app.environment, app.bundleID, link.key)
        }
        var users: [Int: Identifier] = [:]
        for found in try await connection.run(AccountLinkTable.find, questions) { users[found.index] = found.userID }
        var new: [AccountLink] = []
        var newUsers: [AccountLink: Identifier] = [:]
        var kept: [(link: AccountLink, userID: Identifier)] = []
        for (index, link) in given.map(\.link).enumerated() {
            let user = newUsers[link.withoutUser] ?? users[index]
            guard user != link.userID else { continue }
            if let user, !mayMove {
                kept.append((link, user))
            } else {
                newUsers[link.withoutUser] = link.userID
                new.append(link)
            }
        }
        links += try await AccountLinkTable.add(new, mayMove: mayMove, act, on: connection).count
        othersCount += kept.count
        others += kept.prefix(Self.othersShown - others.count)
    }

    /// Publishes the bodies of a batch, and waits until the brokers have acknowledged them.
    private mutating func publish(
        _ batch: [ImportSource.Line], of name: String, to topic: String, by producer: KafkaProducer
    ) async throws {
        var publisher = Publisher(producer, topic: topic)
        for line in batch {
            guard let body = line.body else { continue }
            await publisher.add(ProducerRecord(topic: topic, value: body), origin: BodyOrigin(name, line: line.number))
        }
        let report = await publisher.finish()
        bodies += report.acknowledgedCount
        guard let failure = report.failures.first else { return }
        throw CommandError(
            report.isClusterAtFault ? ExitCode.unavailable : ExitCode.data,
            "\(failure.origin): not published: \(failure.error); run it again to continue")
    }

    private func show(_ source: ImportSource) {
        let json: JSONContent = [
            "lines": lines, "links": links, "customers": customers, "bodies": bodies, "without_user": withoutUser,
            "other_stores": source.otherStores, "other_apps": source.otherApps, "left_to_others": othersCount,
            "others": others.map { link, user -> JSONContent in
                ["kind": link.kind.rawValue, "key": link.key, "user": user, "imported_user": link.userID]
            },
        ]
        context.print(json) { console in
            for (link, user) in others {
                console.print(
                    "left to \(user): \(link.kind.rawValue) \(link.key), imported for \(link.userID)", isBad: true)
            }
            console.print(
                "\(Quantity.counted(lines, "line")) read, \(Quantity.counted(links, "link")) written, "
                    + "\(Quantity.counted(customers, "customer")) to ask Apple about, "
                    + "\(Quantity.counted(bodies, "body", "bodies")) published")
            for (count, noun, text) in [
                (withoutUser, "line", "without a user"), (source.otherStores, "line", "of other stores passed over"),
                (source.otherApps, "line", "passed over: recovery-worker does not ask about the app and environment"),
                (othersCount, "link", "left to other users; --move takes them"),
            ] where count > 0 { console.print("\(Quantity.counted(count, noun)) \(text)") }
        }
    }
}

extension AccountLink {
    /// The link without its user.
    fileprivate var withoutUser: AccountLink {
        var key = self
        key.userID = ""
        return key
    }
}
