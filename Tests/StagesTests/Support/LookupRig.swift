import AppStore
import Telemetry
import TestSupport
import Testing
import Topology
import VerifyStage
import Worker

/// Questions about revocation under a clock of their own, counted.
final class LookupRig: Sendable {
    let clock = TestClock()
    let log = RecordingLogHandler()
    let lookup: RevocationLookup
    private let registry = MetricsRegistry()

    init(isHard: Bool = true, interval: Duration = .seconds(900)) {
        let clock = clock
        lookup = RevocationLookup(
            RevocationPolicy(isHard: isHard, interval: interval, deadlineSeconds: 30),
            metrics: RevocationMetrics(registry), log: Log(log), now: { clock.now })
    }

    /// Number of questions that have ended, with any result.
    var questions: Int {
        let name = "entitlements_verify_revocation_questions_total{"
        let text = String(decoding: registry.exposition(), as: UTF8.self)
        return text.split(separator: "\n").filter { $0.hasPrefix(name) }.reduce(0) { sum, line in
            sum + (line.split(separator: " ").last.flatMap { Int($0) } ?? 0)
        }
    }

    /// Asks the due questions, and waits until a number of questions has ended in all.
    func refresh(untilQuestions count: Int) async {
        _ = lookup.refresh()
        await eventually { questions == count }
    }
}
