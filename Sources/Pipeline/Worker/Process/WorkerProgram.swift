import AppStore
import OpenSSL
import Platform
package import Records
package import Settings
package import Telemetry

/// The parts of a worker that are specific to its stage.
package struct WorkerProgram: Sendable {
    /// The common parts that a stage is built from.
    package struct Parts: Sendable {
        package internal(set) var settings: SettingsValues
        package let metrics: MetricsRegistry
        package let log: Log
        /// Maximum sizes of the stage's outputs, by the topics' configurations.
        package let limits: OutputLimits
        /// The previous stage at a reload.
        ///
        /// `nil` at the start.
        package internal(set) var predecessor: (any Stage)?
    }

    package let stage: StageDescription
    /// The executable's purpose in one sentence.
    package let summary: String
    /// The stage's own settings.
    package let declarations: [SettingDeclaration]
    /// Settings from another executable's section that this executable also reads.
    package let borrowed: [SettingDeclaration]
    /// The sections of a JSON file that belong to other executables.
    package let otherSections: Set<String>
    /// The settings that determine refusals; `dlq.config.sha256` is their hash.
    package let decisive: [SettingDeclaration]
    /// The settings that a reload applies.
    ///
    /// A reload recreates the stage, so only a stage that keeps no state about batches has such settings.
    package let reloadable: [SettingDeclaration]
    /// The files that these settings name; a changed file counts as a change of the settings.
    package let files: @Sendable (SettingsValues) -> [String]
    /// The dependency, such as a database, that readiness requires beside the broker.
    ///
    /// `nil` for none.
    ///
    /// The condition fails while a step of the stage fails.
    package let dependency: HealthCondition?
    /// The condition that fails while an outbox of the stage fails.
    ///
    /// `nil` for the same condition as `dependency`.
    package let outboxDependency: HealthCondition?
    /// Tests the connections to the servers other than the brokers, for `--check --connect`.
    package let connections: @Sendable (SettingsValues) async -> [ConnectionFinding]
    /// The limits of the stage's breaker against wrong settings.
    ///
    /// `nil` for a stage without a breaker.
    ///
    /// The verdicts of a stage with a breaker contain evidence.
    package let breaker: (@Sendable (SettingsValues) -> Breaker.Bounds)?
    /// Problems that only several settings together show, in addition to the checks of all workers.
    package let problems: @Sendable (SettingsValues) -> [SettingProblem]
    /// Builds the stage without waiting for anything.
    ///
    /// A `SettingsError` ends the process at its start with its problems.
    package let make: @Sendable (Parts) throws(SettingsError) -> any Stage

    package init(
        _ stage: StageDescription, summary: String, declarations: [SettingDeclaration],
        borrowed: [SettingDeclaration] = [], otherSections: Set<String> = [], decisive: [SettingDeclaration] = [],
        reloadable: [SettingDeclaration] = [], files: @escaping @Sendable (SettingsValues) -> [String] = { _ in [] },
        dependency: HealthCondition? = nil, outboxDependency: HealthCondition? = nil,
        connections: @escaping @Sendable (SettingsValues) async -> [ConnectionFinding] = { _ in [] },
        breaker: (@Sendable (SettingsValues) -> Breaker.Bounds)? = nil,
        problems: @escaping @Sendable (SettingsValues) -> [SettingProblem] = { _ in [] },
        make: @escaping @Sendable (Parts) throws(SettingsError) -> any Stage
    ) {
        self.stage = stage
        self.summary = summary
        self.declarations = declarations
        self.borrowed = borrowed
        self.otherSections = otherSections
        self.decisive = decisive
        self.reloadable = reloadable
        self.files = files
        self.dependency = dependency
        self.outboxDependency = outboxDependency
        self.connections = connections
        self.breaker = breaker
        self.problems = problems
        self.make = make
    }

    package var schema: SettingsSchema {
        WorkerSettings.schema(adding: declarations, borrowed: borrowed, otherSections: otherSections)
    }

    var conditions: [HealthCondition] {
        [.assigned, .broker] + [dependency, outboxDependency].compactMap(\.self) + (breaker == nil ? [] : [.breaker])
    }
}

extension WorkerProgram {
    /// Returns the stage of these settings, with its dead letters and its breaker.
    func activeStage(_ parts: Parts) throws(SettingsError) -> ActiveStage {
        ActiveStage(
            stage: try make(parts), deadLetters: deadLetters(parts.settings),
            breaker: breaker.map { bounds in
                Breaker(settings: decisiveHash(parts.settings).hex, bounds: bounds(parts.settings))
            })
    }

    /// Hash of the decisive settings, including the contents of the files that they name.
    private func decisiveHash(_ settings: SettingsValues) -> SHA256Digest {
        var text = settings.canonicalText(of: decisive)
        for path in files(settings) { text += SHA256.digest(FileBytes.read(path) ?? []).hex + "\n" }
        return SHA256.digest(Array(text.utf8))
    }

    /// Returns a function that makes this worker's dead-letter writer from the cluster's ID.
    private func deadLetters(_ settings: SettingsValues) -> @Sendable (_ cluster: String) -> any DeadLetterWriting {
        let decisive = settings.canonicalText(of: decisive)
        let configuration = SHA256.digest(Array(decisive.utf8))
        let topic = settings.topic(Topic.deadLetter)
        let worker =
            settings[WorkerSettings.instanceID] ?? "\(ProcessEnvironment.hostName)/\(ProcessEnvironment.processID)"
        return { [stage] cluster in
            DeadLetterWriter(
                DeadLetterContext(
                    cluster: cluster, topic: topic, stage: stage.name, readsObservations: stage.readsObservations,
                    worker: worker, verifierVersion: Verifier.version, configuration: configuration))
        }
    }
}
