import AppStore
import Commands
import DeadLetters
import Kafka
import Operations
import Platform
import Postgres
import Records
import Settings
import Simulation
import Store
import Topology

/// A demo from its beginning to its end.
actor DemoRun {
    private let options: DemoOptions
    private let context: CommandContext
    private let folder: DemoFolder
    private let servers: DemoServers
    private var programs: DemoPrograms?
    private var progress: ProgressLine
    private var apple: SimulatedApple?
    private var recovery: DemoRecovery?

    private static let rootFile = "root.pem"
    private static let settingsFile = "settings.json"

    init(_ options: DemoOptions, _ context: CommandContext) throws {
        self.options = options
        self.context = context
        progress = ProgressLine(console: context.console)
        folder = try DemoFolder()
        let properties =
            options.kafka == nil
            ? [:] : try ToolSettings.schema(.kafkaProperties).read(environment: context.environment).kafkaProperties
        servers = DemoServers(options, properties: properties)
    }

    /// Runs the demo, shows the result, and stops everything it started, even on an error.
    ///
    /// - Returns: the exit code.
    func run() async throws -> Int32 {
        do {
            let code = try await work()
            await stop()
            return code
        } catch {
            progress.clear()
            if Task.isCancelled { context.console.note("stopping what was started") }
            await stop()
            guard !Task.isCancelled else { return ExitCode.interrupted }
            throw error
        }
    }

    /// Stops everything in a separate task, because a cancelled task cannot wait.
    private func stop() async {
        let (programs, servers, folder, apple) = (programs, servers, folder, apple)
        let left = await Task {
            _ = await programs?.stop()
            apple?.stop()
            return await servers.stop()
        }.value
        folder.remove()
        for what in left { context.console.note("not removed: \(what)") }
    }

    private func work() async throws -> Int32 {
        context.console.note(
            "The entitlement pipeline, whole: signed App Store bodies in Kafka become entitlements in PostgreSQL.")
        let traffic = try await prepare()
        let start = ContinuousClock.now
        let lost = options.isRecovering ? traffic.lostNotifications(now: WallClock.milliseconds) : []
        let arrived = traffic.items.indices.filter { !lost.contains($0) }.map { traffic.items[$0] }
        try await publish(arrived)
        try await settle(bodyCount: arrived.count)
        if options.isRecovering { try await recover(traffic, lostCount: lost.count) }
        let duration = ContinuousClock.now - start
        if options.isKeeping {
            let result = try await result(traffic, duration, failedWorkers: [])
            show(result)
            try await keep(result)
            return exitCode(result)
        }
        progress.show("stopping the workers")
        let failed = await programs?.stop() ?? []
        programs = nil
        let result = try await result(traffic, duration, failedWorkers: failed)
        progress.clear()
        show(result)
        context.console.note("Everything is stopped and removed; with --keep it goes on, with the auditors' console.")
        return exitCode(result)
    }

    private func exitCode(_ result: DemoResult) -> Int32 {
        result.problems.isEmpty ? ExitCode.success : ExitCode.negative
    }

    /// Starts everything and signs the traffic.
    private func prepare() async throws -> DemoTraffic {
        progress.show("signing \(Quantity.counted(options.bodyCount, "body", "bodies"))")
        let traffic = try DemoTraffic(seed: options.seed, bodyCount: options.bodyCount)
        progress.show(options.kafka == nil ? "starting Kafka" : "making topics")
        try await servers.startKafka()
        progress.show(options.postgres == nil ? "starting PostgreSQL" : "making a database")
        try await servers.startPostgres()
        progress.show("laying out the database")
        let migrations = try MigrationFolder.find(environment: context.environment).migrations()
        try await PostgresConnection.lend(await servers.database) { connection in
            _ = try await Migrator(migrations).run(on: connection)
            _ = try await CatalogTable.apply(json: Array(traffic.catalog.utf8), on: connection)
            let act = (by: "demo", reason: "the users of the sample")
            _ = try await AccountLinkTable.add(traffic.accountLinks, mayMove: true, act, on: connection)
        }
        try folder.write(traffic.rootPEM.utf8, to: Self.rootFile)
        try folder.write(await settings(traffic.apps).json, to: Self.settingsFile)
        progress.show("starting the four workers")
        let workers = Topology.stages.map(\.program)
        programs = try DemoPrograms(
            in: context.executables,
            requiring: workers + (options.isKeeping ? [DemoAuditing.program] : [])
                + (options.isRecovering ? [StageDescription.recovery.program] : []), folder: folder,
            environment: context.environment, inheriting: options.inheritedPrefixes)
        for worker in workers { try programs?.start(worker, ["--config", folder.path(of: Self.settingsFile)]) }
        progress.finish("running on \(await servers.description)")
        return traffic
    }

    private func settings(_ apps: [DemoApp]) async -> DemoSettings {
        DemoSettings(
            bootstrap: await servers.bootstrap, prefix: servers.topicPrefix, databaseURL: await servers.databaseURL,
            apps: apps, rootFile: folder.path(of: Self.rootFile), codec: await servers.codec)
    }

    private func publish(_ items: [DemoItem]) async throws {
        let configuration = await servers.kafkaConfiguration
        let settings = try await workerSettings()
        progress.show("publishing")
        try await KafkaAdmin.with(configuration) { admin in
            try await KafkaProducer.with(configuration) { producer in
                var publishing = DemoPublishing(
                    producer, topic: servers.topicPrefix + Topic.raw, unsettledBytesMax: await servers.unsettledBytesMax
                )
                for item in items {
                    try Task.checkCancellation()
                    await publishing.add(item)
                    while publishing.mustWait {
                        try programs?.requireRunning()
                        publishing.note(try await AccountReader(admin, settings).read(Topology.stages))
                        if publishing.mustWait { try await Task.sleep(for: DemoSettling.pause) }
                    }
                    let count = publishing.count
                    progress.show("publishing", done: count, of: items.count, "body", "bodies")
                }
                try await publishing.finish()
            }
        }
        progress.finish("published \(Quantity.counted(items.count, "body", "bodies"))")
    }

    /// Waits until every stage has settled all of its records.
    private func settle(bodyCount: Int) async throws {
        let settings = try await workerSettings()
        var wait = DemoSettling(bodyCount: bodyCount)
        do {
            try await KafkaAdmin.with(await servers.kafkaConfiguration) { admin in
                while true {
                    try programs?.requireRunning()
                    let reconciliation = try await AccountReader(admin, settings).read(Topology.stages)
                    progress.show("settling", reconciliation.progress)
                    guard try !wait.isOver(reconciliation, at: .now) else { break }
                    try await Task.sleep(for: DemoSettling.pause)
                }
            }
        } catch let standstill as DemoSettling.Standstill {
            throw standstill.told { programs?.lastWords(of: $0.program) ?? [] }
        }
        progress.finish("settled all of them")
    }

    private func workerSettings() async throws -> SettingsValues {
        let file = try SettingsFile(path: folder.path(of: Self.settingsFile))
        return try ToolSettings.schema([.kafka, .database]).read(environment: [:], file: file)
    }

    /// Recovers the lost notifications from a simulated Apple server, and waits until all are settled.
    private func recover(_ traffic: DemoTraffic, lostCount: Int) async throws {
        let lacking = try await result(traffic, .zero, failedWorkers: []).userProblems.count
        progress.finish(
            "lost \(Quantity.counted(lostCount, "notification")) on the way: "
                + "\(Quantity.counted(lacking, "user")) of \(traffic.users.count) lack what they "
                + "bought, or keep what they gave back")
        let apple = try SimulatedApple(traffic)
        self.apple = apple
        try programs?.start(
            StageDescription.recovery.program, ["--config", folder.path(of: Self.settingsFile)],
            // Turn off questions about stale subscriptions, because their answers would be additional bodies.
            environment: apple.environment.merging(["RECOVERY_STALE_MAX": "0"]) { $1 })
        let settings = try await workerSettings()
        let end = ContinuousClock.now + DemoRecovery.durationMax
        var account = try await AppleAccount.read(since: DemoRecovery.since, settings)
        while !account.isBalanced {
            guard ContinuousClock.now < end else {
                throw CommandError(
                    ExitCode.software, "what was lost was not fetched within \(DemoRecovery.durationMax)")
            }
            try programs?.requireRunning()
            progress.show("asking Apple", account.progress)
            try await Task.sleep(for: DemoSettling.pause)
            account = try await AppleAccount.read(since: DemoRecovery.since, settings)
        }
        let recovery = DemoRecovery(account: account, lostCount: lostCount, lackingCount: lacking)
        self.recovery = recovery
        let count = Int(clamping: recovery.publishedCount)
        try await settle(bodyCount: traffic.items.count - lostCount + count)
    }

    private func result(_ traffic: DemoTraffic, _ duration: Duration, failedWorkers: [String]) async throws
        -> DemoResult
    {
        let configuration = await servers.kafkaConfiguration
        let settings = try await workerSettings()
        let reconciliation = try await KafkaAdmin.lend(configuration) { admin in
            try await AccountReader(admin, settings).read(Topology.stages)
        }
        let letters = try await DemoLetters.read(
            DeadLetterTopic(name: servers.topicPrefix + Topic.deadLetter, configuration: configuration))
        let shown = traffic.tellingUserIDs
        let shownIDs = shown.map { Identifier($0) }
        let database = await servers.database
        let (states, holdings, credits) = try await PostgresConnection.lend(database) { connection in
            (
                try await DemoUserState.all(on: connection),
                Array(try await connection.run(EntitlementDetails.held, shownIDs)),
                Array(try await connection.run(EntitlementDetails.credited, shownIDs))
            )
        }
        let plan = try await DemoPlan.apply(
            traffic.catalog, folder: folder, settingsFile: folder.path(of: Self.settingsFile))
        return DemoResult(
            runName: servers.runName, items: traffic.items, recovery: recovery, plan: plan, users: traffic.users,
            duration: duration, reconciliation: reconciliation, letters: letters, states: states, holdings: holdings,
            credits: credits, shownUserIDs: shown, failedWorkers: failedWorkers)
    }

    private func show(_ result: DemoResult) {
        if options.isJSON {
            context.console.print(json: result)
        } else {
            result.lines.forEach { context.console.print($0) }
        }
    }

    /// Starts the auditors' programs, prints commands to try, and waits for Ctrl-C.
    private func keep(_ result: DemoResult) async throws {
        let settings = folder.path(of: Self.settingsFile)
        let console = context.console
        let auditing = try DemoAuditing(settings: settings, folder: folder)
        let url = try await start(auditing, result.letters.counts.values.reduce(0, +))
        console.note(
            """

            Everything is running until Ctrl-C. The auditors' console is at
              \(url), user \(DemoAuditing.userName), password \(auditing.password)
            In another terminal:
              \(context.executables)/pipeline status --config \(settings)
              \(context.executables)/pipeline reconcile --config \(settings)
              \(context.executables)/dead-letter list --config \(settings)
            The database's URL and all other settings are in \(settings),
            the workers' logs beside it.
            """)
        await Interruption.wait()
        console.note("stopping")
    }

    /// Starts the index and the console, and waits until both are usable.
    ///
    /// - Returns: the console's URL.
    private func start(_ auditing: DemoAuditing, _ letterCount: Int) async throws -> String {
        progress.show("starting the index and the console")
        for (name, arguments) in auditing.commandLines {
            try programs?.start(DemoAuditing.program, arguments, as: name)
        }
        let end = ContinuousClock.now + DemoAuditing.startMax
        while ContinuousClock.now < end {
            try programs?.requireRunning()
            let indexed = try await PostgresConnection.lend(await servers.database) {
                try await DeadLetterIndexTable.records(on: $0)
            }
            if indexed >= letterCount, let url = programs.flatMap({ auditing.url(in: $0) }) {
                progress.clear()
                return url
            }
            try await Task.sleep(for: DemoSettling.pause)
        }
        throw CommandError(
            ExitCode.unavailable, "the index and the console were not ready within \(DemoAuditing.startMax)")
    }
}
