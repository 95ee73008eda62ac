import AppStore
import Commands
import Entitlements
import JSON
import Platform
import Postgres
import Settings
import Store

extension ToolCommand {
    static let recoverApple = ToolCommand(
        "recover apple",
        "Fetches purchases from Apple's server, for support and migrations.\n\n"
            + "Queues questions for recovery-worker, which asks Apple and publishes the "
            + "answers, and waits until all are answered. --ids and --user fetch every "
            + "transaction and refund of these customers, --order the transactions of an "
            + "order, by the ID in the receipt that Apple has mailed. What is known already "
            + "changes nothing. --unfinished asks again what Apple has refused for good, with the "
            + "purchases that could not be finished; --lift asks nothing, and ends the waits that "
            + "Apple's server has asked for. Exit code 1 where Apple does not know one, or refuses "
            + "it, where the user has no purchase, and where there is nothing to ask or to end.",
        options: [
            CommandOption("ids", argument: "FILE", "Transaction IDs, one a line; standard input for \"-\"."),
            CommandOption("user", argument: "USER", "The purchases of this user."),
            CommandOption("order", argument: "ID", "An order ID; may be given several times."),
            CommandOption("unfinished", "What Apple has refused within the last week, again."),
            CommandOption("lift", "Let recovery-worker ask again what Apple wants to wait."), .environment,
            CommandOption(
                "bundle", argument: "ID", "The app; may be left out where recovery-worker asks about one only."),
            CommandOption("no-wait", "Queue the questions and end."), .postgres, .config, .json, .wide,
        ]
    ) { context in
        let isLifting = context.arguments.isSet("lift")
        let source = isLifting ? nil : try AppleQuestions.Source(context.arguments)
        let environment = Environment(rawValue: try context.environment())
        let bundleID = context.arguments.value("bundle").map { Identifier($0) }
        return try await context.withDatabase { connection in
            let questions = AppleQuestions(connection: connection, environment: environment, bundleID: bundleID)
            guard let source else { return try await lift(questions, context.console) }
            let requests = try await questions.add(source)
            guard !requests.isEmpty else {
                context.console.note("nothing to ask Apple about")
                return ExitCode.negative
            }
            guard !context.arguments.isSet("no-wait") else {
                context.console.note("\(Quantity.counted(requests.count, "question")) queued")
                return ExitCode.success
            }
            var progress = ProgressLine(console: context.console)
            let states = try await questions.answers(to: requests) { done in
                progress.show("asking Apple", done: done, of: requests.count, "question")
            }
            progress.clear()
            let done = RecoveryRequestTable.Result.done.rawValue
            context.console.print(states, AppleQuestions.columns, context.arguments) { $0.result != done }
            return ExitCode.answer(states.allSatisfy { $0.result == done })
        }
    }

    private static func lift(_ questions: AppleQuestions, _ console: Console) async throws -> Int32 {
        let count = try await questions.connection.run(
            RecoveryLimitTable.lift,
            (questions.environment, questions.bundleID, Timestamp(milliseconds: WallClock.milliseconds))
        ).affectedCount
        console.note("\(Quantity.counted(count, "wait")) ended")
        return count > 0 ? ExitCode.success : ExitCode.negative
    }
}

/// An operator's questions to Apple's server, which `recovery-worker` asks.
struct AppleQuestions {
    typealias Request = RecoveryRequestTable.Request

    enum Source {
        case transactions([Identifier])
        case user(Identifier)
        case orders([Identifier])
        /// All questions that failed for good.
        case unfinished

        private static let idsMax = 1_000_000
        private static let lineBytesMax = 1_024

        init(_ arguments: CommandArguments) throws {
            let orders = arguments.values("order")
            let isUnfinished = arguments.isSet("unfinished")
            let given = [arguments.value("ids"), arguments.value("user"), orders.first, isUnfinished ? "" : nil]
            guard given.count(where: { $0 != nil }) == 1 else {
                throw UsageError("expected one of --ids, --user, --order, --unfinished and --lift")
            }
            if isUnfinished {
                self = .unfinished
            } else if let path = arguments.value("ids") {
                self = .transactions(try Self.read(path))
            } else if let user = arguments.value("user") {
                self = .user(Identifier(user))
            } else {
                self = .orders(try orders.map { try Self.id($0, in: "--order") })
            }
        }

        private static func read(_ path: String) throws -> [Identifier] {
            var lines = LineReader(lineBytesMax: lineBytesMax, of: try BodySource.open(path))
            var ids: [Identifier] = []
            var seen: Set<Identifier> = []
            while let line = try lines.next() {
                let text = String(decoding: line.filter { $0 > 0x20 }, as: UTF8.self)
                guard !text.isEmpty else { continue }
                let origin = "\(BodySource.name(of: path)), line \(lines.lineNumber)"
                let id = try id(text, in: origin)
                guard seen.insert(id).inserted else { continue }
                guard ids.count < idsMax else { throw UsageError("--ids: expected at most \(idsMax) transaction IDs") }
                ids.append(id)
            }
            return ids
        }

        private static func id(_ text: String, in origin: String) throws(UsageError) -> Identifier {
            guard let id = Identifier(entering: text) else {
                throw UsageError("\(origin): expected an ID of \(Identifier.entryRule)")
            }
            return id
        }
    }

    let connection: PostgresConnection
    let environment: Environment
    let bundleID: Identifier?

    private static let batchMax = 1_000
    private static let pollInterval = Duration.milliseconds(250)

    /// Queues the questions.
    ///
    /// - Throws: a `UsageError` if `recovery-worker` does not ask about the app.
    func add(_ source: Source) async throws -> [Request] {
        let requests = try await requests(source)
        for batch in Self.batches(requests) { _ = try await connection.run(RecoveryRequestTable.add, batch) }
        return requests
    }

    private static func batches(_ requests: [Request]) -> [[Request]] {
        stride(from: 0, to: requests.count, by: batchMax).map {
            Array(requests[$0..<min($0 + batchMax, requests.count)])
        }
    }

    private func requests(_ source: Source) async throws -> [Request] {
        switch source {
        case .unfinished:
            return Array(try await connection.run(RecoveryRequestTable.unfinished, (environment, bundleID)))
        case .orders(let ids):
            let app = try await app()
            return ids.map { Request(app: app, kind: .order, subject: $0) }
        case .transactions(let ids):
            let app = try await app()
            return ids.flatMap { Self.history(app, $0) }
        case .user(let user):
            let apps = try await apps()
            let purchases = try await connection.run(UserPurchases.all, (user, environment))
            return purchases.flatMap { purchase -> [Request] in
                let app = RecoveredApp(environment: environment, bundleID: purchase.bundleID)
                guard apps.contains(app), bundleID.map({ $0 == app.bundleID }) ?? true else { return [] }
                return Self.history(app, purchase.originalTransactionID)
            }
        }
    }

    static func history(_ app: RecoveredApp, _ id: Identifier) -> [Request] {
        [.transactions, .refunds].map { Request(app: app, kind: $0, subject: id) }
    }

    /// The apps of the environment that `recovery-worker` covers.
    private func apps() async throws -> Set<RecoveredApp> {
        let states = try await connection.run(RecoveryWindowTable.states)
        return Set(states.map(\.app).filter { $0.environment == environment })
    }

    private func app() async throws -> RecoveredApp {
        let apps = try await apps()
        let asked = bundleID.map { RecoveredApp(environment: environment, bundleID: $0) }
        if let asked {
            guard apps.contains(asked) else {
                throw UsageError(
                    "--bundle: recovery-worker has never asked about \(asked.bundleID) in " + environment.rawValue)
            }
            return asked
        }
        guard let app = apps.first, apps.count == 1 else {
            throw UsageError(
                apps.isEmpty
                    ? "recovery-worker has never asked about an app in \(environment.rawValue)"
                    : "--bundle: expected one of " + apps.map(\.bundleID.text).sorted().joined(separator: ", "))
        }
        return app
    }

    func answers(to requests: [Request], progress: (Int) -> Void) async throws -> [RecoveryRequestTable.State] {
        var answered: [Request: RecoveryRequestTable.State] = [:]
        var open = requests
        while true {
            var waiting: Set<Request> = []
            for batch in Self.batches(open) {
                for state in try await connection.run(RecoveryRequestTable.states, batch) {
                    if state.result == nil { waiting.insert(state.request) } else { answered[state.request] = state }
                }
            }
            // A question that is no longer stored was answered and then pruned.
            open = open.filter(waiting.contains)
            progress(requests.count - open.count)
            if open.isEmpty { return requests.compactMap { answered[$0] } }
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    static let columns: [ReportColumn<RecoveryRequestTable.State>] = [
        .member("environment", \.request.app.environment.rawValue), .init("id", \.request.subject),
        .init("kind", title: "question", \.request.kind.rawValue),
        .init("result", title: "answer", \.result) { $0.result ?? "waiting" }, .init("published", rank: 1, \.published),
        .init("bundle_id", title: "bundle", rank: 2, \.request.app.bundleID),
    ]
}
