import Kafka

/// The settings that all workers have.
package enum WorkerSettings {
    package static let instanceID = Setting<String?>.optional(
        "kafka.instance_id", .string(bytes: 1...200),
        "Static member ID, unique in the group: the worker keeps its partitions across a restart.")
    package static let leaveOnStop = Setting(
        "kafka.leave_on_stop", .bool, default: false,
        "Whether a static member that is told to stop leaves its group, which hands on its "
            + "partitions at once, also before a restart; a crash never does.")
    package static let sessionTimeout = Setting(
        "kafka.session_timeout", .duration(.seconds(1)...(.seconds(1800))), default: .seconds(45),
        "Time without a heartbeat after which the group reassigns a worker's partitions.")
    package static let batchRecordsMax = Setting(
        "batch.records_max", .int(1...100_000), default: 1000, "Maximum records per batch.")
    package static let batchBytesMax = Setting(
        "batch.bytes_max", .bytes((64 << 10)...(256 << 20)), default: 4 << 20,
        "Maximum bytes per batch; a single larger record is a batch of its own.")
    package static let batchesInFlightMax = Setting(
        "batch.in_flight_max", .int(1...16), default: 3,
        "Maximum batches in flight: one is processed while others await acknowledgements.")
    package static let gatherMax = Setting(
        "batch.gather_max", .duration(.zero...(.seconds(1))), default: .milliseconds(20),
        "Maximum time that records gather for a batch under load; at rest none waits.")
    package static let retryDelayMin = Setting(
        "retry.delay_min", .duration(.milliseconds(1)...(.seconds(60))), default: .milliseconds(100),
        "Delay before the first retry after a fault of the broker or the database.")
    package static let retryDelayMax = Setting(
        "retry.delay_max", .duration(.milliseconds(10)...(.seconds(3600))), default: .seconds(30),
        "Maximum delay between retries; the delay doubles up to it, with jitter.")
    package static let shutdownBudget = Setting(
        "shutdown.budget", .duration(.milliseconds(100)...(.seconds(600))), default: .seconds(20),
        "Time after SIGTERM to finish and commit batches in flight; 8 s later the worker exits anyway.")
    package static let httpAddress = Setting(
        "http.address", .string(bytes: 1...45), default: "127.0.0.1",
        "Listen address for health and metrics, IPv4 or IPv6; 0.0.0.0 for all IPv4 addresses.")
    package static let httpPort = Setting(
        "http.port", .int(0...65_535), default: 9400,
        "Listen port for health and metrics; 0 for any free port, which the log names.")
    package static let stallMax = Setting(
        "health.stall_max", .duration(.seconds(1)...(.seconds(3600))), default: .seconds(60),
        "Time without progress after which /livez fails.")
    package static let watchInterval = Setting(
        "settings.watch_interval", .duration(.milliseconds(100)...(.seconds(3600))), default: .seconds(5),
        "How often the settings files are checked; a change is applied as after SIGHUP.")
    package static let logLevel = Setting("log.level", .choice, default: LogLevel.info, "Minimum level of log events.")

    package static let declarations = [
        KafkaSettings.bootstrap.declaration, KafkaSettings.topicPrefix.declaration,
        KafkaSettings.groupPrefix.declaration, instanceID.declaration, leaveOnStop.declaration,
        sessionTimeout.declaration, batchRecordsMax.declaration, batchBytesMax.declaration,
        batchesInFlightMax.declaration, gatherMax.declaration, retryDelayMin.declaration, retryDelayMax.declaration,
        shutdownBudget.declaration, httpAddress.declaration, httpPort.declaration, stallMax.declaration,
        watchInterval.declaration, logLevel.declaration,
    ]

    /// Returns a worker's schema: the settings of all workers, and those of its stage.
    ///
    /// - Parameters:
    ///   - borrowed: settings of another executable's section that this one also reads.
    ///   - otherSections: the sections of a JSON file that belong to other executables.
    package static func schema(
        adding stage: [SettingDeclaration], borrowed: [SettingDeclaration] = [], otherSections: Set<String> = []
    ) -> SettingsSchema {
        SettingsSchema(
            declarations + stage, borrowed: borrowed, otherSections: otherSections,
            kafkaPropertyProblem: KafkaPropertyCheck.problem)
    }

    /// Problems in the combination of several settings.
    package static func problems(_ values: SettingsValues) -> [SettingProblem] {
        guard values[retryDelayMin] > values[retryDelayMax] else { return [] }
        return [SettingProblem(setting: retryDelayMin.declaration.name, message: "expected at most retry.delay_max")]
    }
}
