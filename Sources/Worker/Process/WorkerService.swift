import AppStore
import DeadLetters
package import HTTP
import Kafka
import OpenSSL
package import Settings

/// A worker, built and not yet running: its loop, and the server that tells how it does.
///
/// What `main` runs and what tests run is the same.
package final class WorkerService: Sendable {
    package let health: Health
    package let metrics: MetricsRegistry
    package let server: HTTPServer
    package let loop: WorkerLoop
    private let log: Log

    /// Begins to listen for health and metrics; opens no other connection.
    ///
    /// Throws `SettingsError`, `KafkaError` for properties that librdkafka does not take, and
    /// `HTTPServerError`.
    package init(
        _ program: WorkerProgram,
        _ settings: SettingsValues,
        log handler: any LogHandler
    ) throws {
        let stage = program.stage
        log = Log(handler, metadata: ["stage": .string(stage.rawValue)])
        metrics = MetricsRegistry(labels: ["stage": stage.rawValue])
        ProcessMetrics.declare(in: metrics)
        health = Health(
            conditions: program.conditions,
            stallMax: settings[WorkerSettings.stallMax]
        )
        let parts = WorkerProgram.Parts(settings: settings, metrics: metrics, log: log)
        loop = try WorkerLoop(
            stage: program.make(parts),
            configuration: WorkerConfiguration(settings, stage),
            deadLetters: Self.deadLetters(program, settings),
            breaker: program.hasBreaker ? Self.breaker(settings) : nil,
            health: health,
            metrics: metrics,
            log: log
        )
        server = try HTTPServer(
            address: settings[WorkerSettings.httpAddress],
            port: UInt16(settings[WorkerSettings.httpPort]),
            routes: HealthRoutes.routes(health: health, metrics: metrics)
        )
    }

    private static func breaker(_ settings: SettingsValues) -> Breaker {
        Breaker(
            distinctMax: settings[WorkerSettings.breakerRefusedMax],
            window: settings[WorkerSettings.breakerArmedMax],
            now: .now
        )
    }

    /// The letters of this worker, once the cluster's ID is known.
    private static func deadLetters(
        _ program: WorkerProgram,
        _ settings: SettingsValues
    ) -> @Sendable (_ cluster: String) -> any DeadLetterWriting {
        let decisive = settings.canonicalText(of: program.decisive)
        let configuration = SHA256.digest(Array(decisive.utf8))
        let topic = settings.topic(StageName.deadLetterTopic)
        let worker = settings[WorkerSettings.instanceID] ?? HostName.current
        return { cluster in
            DeadLetterWriter(
                DeadLetterContext(
                    cluster: cluster,
                    topic: topic,
                    stage: program.stage.rawValue,
                    readsObservations: program.stage != .verify,
                    worker: worker,
                    verifierVersion: Verifier.version,
                    configuration: configuration
                )
            )
        }
    }

    /// Runs until `stop()`.
    package func run() async throws {
        log.info("worker started", ["http.port": .int(server.port)])
        defer { server.stop() }
        try await loop.run()
        log.info("worker ended")
    }

    package func stop() {
        loop.stop()
    }
}
