package import HTTP
import Kafka
import Records
import Release
package import Settings
package import Telemetry

/// A worker before its start: its loop, and the server of its health and metrics.
///
/// The function `main` and the tests run the same service.
package final class WorkerService: Sendable {
    package let health: Health
    package let metrics: MetricsRegistry
    package let server: HTTPServer
    package let loop: WorkerLoop
    let log: Log
    private let watch: SettingsWatch
    /// A known reason why the Kafka settings cannot work.
    private let warning: String?

    /// Starts listening for health and metrics requests; opens no other connection.
    ///
    /// - Parameters:
    ///   - source: the source of the settings, which a reload reads again.
    ///   - handler: the receiver of the log.
    /// - Throws: `SettingsError`; `KafkaError` for properties that librdkafka does not accept; `HTTPServerError`.
    package init(
        _ program: WorkerProgram, _ settings: SettingsValues, from source: SettingsSource, log handler: any LogHandler
    ) throws {
        let stage = program.stage
        log = Log(handler, metadata: ["stage": .string(stage.name)])
        metrics = MetricsRegistry(labels: ["stage": stage.name])
        ProcessMetrics.declare(in: metrics)
        health = Health(conditions: program.conditions, stallMax: settings[WorkerSettings.stallMax])
        var configuration = WorkerConfiguration(settings, stage)
        configuration.dependency = program.dependency ?? .broker
        configuration.outboxDependency = program.outboxDependency
        warning = ScramSupport.warning(configuration.consumerProperties)
        let parts = WorkerProgram.Parts(
            settings: settings, metrics: metrics, log: log,
            limits: OutputLimits(producerProperties: configuration.producerProperties))
        loop = try WorkerLoop(
            program.activeStage(parts), configuration: configuration, limits: parts.limits, health: health,
            metrics: metrics, log: log)
        watch = SettingsWatch(
            SettingsReload(program, from: source, parts: parts, loop: loop),
            interval: settings[WorkerSettings.watchInterval])
        server = try HTTPServer(
            address: settings[WorkerSettings.httpAddress], port: UInt16(settings[WorkerSettings.httpPort]),
            routes: HealthRoutes.routes(health: health, metrics: metrics))
    }

    /// Runs until `stop()`.
    package func run() async throws {
        log.info(
            "worker started",
            [
                "release.version": .string(Release.version), "release.commit": .string(Release.commit),
                "http.port": .int(server.port),
            ])
        if let warning { log.warning("Kafka may refuse these settings", ["kafka.reason": .string(warning)]) }
        let watching = Task { await watch.run() }
        defer {
            watching.cancel()
            server.stop()
        }
        try await loop.run()
        log.info("worker stopped")
    }

    package func stop() { loop.stop() }

    /// Reloads the settings.
    ///
    /// Any thread may call this.
    package func reload() { watch.ask() }
}
