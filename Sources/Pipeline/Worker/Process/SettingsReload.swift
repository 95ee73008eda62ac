import Kafka
import OpenSSL
import Records
import Settings
import Synchronization
import Telemetry

/// A reload of the settings while the worker runs; it gives the loop a stage with the settings that may change.
///
/// A reload is all or nothing: if the settings are invalid, the problems are logged and the former settings stay in
/// force.
final class SettingsReload: Sendable {
    private struct State {
        /// The settings in force: reloadable settings as last applied, all others as at the start.
        var settings: SettingsValues
        /// The problems of the last attempt; empty if it was applied.
        var problems: [String] = []
        /// Names of changed settings that take effect only after a restart.
        var needingRestart: [String] = []
    }

    private let program: WorkerProgram
    private let source: SettingsSource
    private let loop: WorkerLoop
    /// The parts from which the stage was built at the start.
    private let parts: WorkerProgram.Parts
    private let results: MetricFamily<Counter>
    private let refused: MetricFamily<Gauge>
    private let restart: MetricFamily<Gauge>
    private let state: Mutex<State>
    private let secrets: KafkaSecrets

    init(_ program: WorkerProgram, from source: SettingsSource, parts: WorkerProgram.Parts, loop: WorkerLoop) {
        self.program = program
        self.source = source
        self.loop = loop
        self.parts = parts
        state = Mutex(State(settings: parts.settings))
        secrets = KafkaSecrets(parts.settings.clientProperties(program.stage))
        results = parts.metrics.counter("settings_reloads", "Settings reloads, by result.", labels: ["result"])
        refused = parts.metrics.gauge(
            "settings_refused_state", "1 while the last reload was invalid and the previous settings stay in force.")
        restart = parts.metrics.gauge("settings_restart_needed_state", "1 while settings changed that need a restart.")
    }

    /// The files of the settings in force, including the root certificates that they name.
    var files: [String] {
        let settings = state.withLock { $0.settings }
        return source.files + program.files(settings) + KafkaSecrets.files(settings.kafkaProperties)
    }

    /// Whether the last attempt found a problem, which may be corrected at any time.
    var isRefused: Bool { state.withLock { !$0.problems.isEmpty } }

    /// Reads all settings again; only one task at a time may call this.
    ///
    /// - Parameter isAsked: whether an operator requested the reload, so that the problems are logged even if they are
    ///   unchanged.
    func attempt(isAsked: Bool) async {
        do throws(SettingsError) {
            let read = try source.read()
            let former = state.withLock { $0.settings }
            let settings = former.taking(program.reloadable + former.secretsOfFiles, from: read).taking(
                kafkaProperties: KafkaIdentity.names, from: read)
            // A secret is applied once a login with it has worked.
            try await loop.stage.signIn()
            try await follow(settings.clientProperties(program.stage))
            if !program.reloadable.isEmpty { try apply(settings) }
            report(settings.names(differingFrom: former), settings.names(differingFrom: read))
            state.withLock { $0.settings = settings }
        } catch {
            // No caller waits for an answer when the worker ends.
            guard !Task.isCancelled else { return }
            refuse(error.problems.map(\.description), isAsked: isAsked)
        }
    }

    private func follow(_ properties: [String: String]) async throws(SettingsError) {
        do { guard try await secrets.follow(properties) else { return } } catch {
            throw SettingsError(problems: [SettingProblem(setting: "rdkafka", message: error.message)])
        }
        parts.log.notice("certificates replaced, reconnecting to Kafka")
        loop.renewClients()
    }

    private func apply(_ settings: SettingsValues) throws(SettingsError) {
        var parts = parts
        parts.settings = settings
        parts.predecessor = loop.stage
        loop.reload(try program.activeStage(parts))
    }

    private func report(_ changed: [String], _ needingRestart: [String]) {
        let wasNeedingRestart = state.withLock { state in
            defer {
                state.problems = []
                state.needingRestart = needingRestart
            }
            return state.needingRestart
        }
        results["applied"].increment()
        refused.set(0)
        restart.set(needingRestart.isEmpty ? 0 : 1)
        parts.log.notice("settings reloaded", ["settings.changed": .strings(changed)])
        guard !needingRestart.isEmpty, needingRestart != wasNeedingRestart else { return }
        parts.log.warning("settings changed that need a restart", ["settings.names": .strings(needingRestart)])
    }

    private func refuse(_ problems: [String], isAsked: Bool) {
        let isNew = state.withLock { state in
            defer { state.problems = problems }
            return state.problems != problems
        }
        refused.set(1)
        guard isNew || isAsked else { return }
        results["refused"].increment()
        parts.log.error(
            "reloaded settings invalid, previous settings stay in force", ["settings.problems": .strings(problems)])
    }
}

extension LogValue {
    fileprivate static func strings(_ texts: [String]) -> LogValue { .array(texts.map { .string($0) }) }
}

/// A watch that reloads the settings at SIGHUP, and when the contents of a file have changed.
///
/// Files are compared by their contents, at an interval. This detects a replaced file, a symlink with a new target (as
/// in a Kubernetes volume), and changes on a file system without events.
final class SettingsWatch: Sendable {
    private typealias Contents = [String: SHA256Digest?]

    private let reload: SettingsReload
    private let interval: Duration
    private let signal = Signal()
    private let isAsked = Atomic(false)
    /// The contents from which the present settings were read.
    private let known: Mutex<Contents>

    /// Makes a watch for changes to the files' contents, compared with their contents now.
    init(_ reload: SettingsReload, interval: Duration) {
        self.reload = reload
        self.interval = interval
        known = Mutex(Self.contents(of: reload.files))
    }

    /// Requests a reload of the settings at once.
    ///
    /// Any thread may call this.
    func ask() {
        isAsked.store(true, ordering: .releasing)
        signal.send()
    }

    /// Watches until cancelled.
    func run() async {
        var last = known.withLock { $0 }
        while !Task.isCancelled {
            await signal.wait(for: interval)
            let isAsked = isAsked.exchange(false, ordering: .acquiringAndReleasing)
            let now = Self.contents(of: reload.files)
            // A file that is still being written is ignored until its contents stay the same.
            let isChanged = now == last && now != known.withLock { $0 }
            last = now
            guard isAsked || isChanged || reload.isRefused else { continue }
            await reload.attempt(isAsked: isAsked)
            let after = now.merging(Self.contents(of: reload.files)) { former, _ in former }
            last = after.filter { reload.files.contains($0.key) }
            known.withLock { [last] in $0 = last }
        }
    }

    private static func contents(of files: [String]) -> Contents {
        Dictionary(
            files.map { ($0, FileBytes.read($0).map { SHA256.digest($0) }) }, uniquingKeysWith: { first, _ in first })
    }
}
