import Commands
package import Operations
import Records
import Settings
import Topology
import Worker

/// Decides how long a demo waits for its workers: until the last record is settled, or nothing was
/// settled for too long.
package struct DemoSettling: Sendable {
    /// Time between two checks of the committed offsets.
    static let pause = Duration.milliseconds(150)
    /// Maximum time without progress: a group needs seconds to form, and a busy machine is slow.
    private static let standstillMax = Duration.seconds(90)

    private let bodyCount: Int
    private var settledCount: Int64 = -1
    private var lastProgress: ContinuousClock.Instant?

    package init(bodyCount: Int) { self.bodyCount = bodyCount }

    /// Returns whether every stage has settled all records.
    ///
    /// - Throws: `Standstill` if nothing was settled for too long.
    package mutating func isOver(_ reconciliation: Reconciliation, at now: ContinuousClock.Instant) throws(Standstill)
        -> Bool
    {
        let given = reconciliation[.verify]?.end ?? 0
        if reconciliation.isSettled, given >= Int64(bodyCount) { return true }
        let settled = reconciliation.stages.reduce(0) { $0 + $1.settled }
        if settled != settledCount || lastProgress == nil {
            settledCount = settled
            lastProgress = now
        }
        guard let lastProgress, now - lastProgress > Self.standstillMax else { return false }
        throw Standstill(
            lasted: Self.standstillMax, waiting: reconciliation.stages.filter { $0.lag > 0 }.map { ($0.stage, $0.lag) })
    }

    /// An error that names the stages whose workers make no progress.
    package struct Standstill: Error {
        let lasted: Duration
        let waiting: [(stage: StageDescription, count: Int64)]

        /// - Parameter words: returns the last lines of the log of a stage's worker.
        func told(words: (StageDescription) -> [String]) -> CommandError {
            let stages = waiting.map { stage, count in
                let said = words(stage).map { "\n    \($0)" }.joined()
                return "\n  \(stage.name) has \(Quantity.grouped(count)) waiting"
                    + (said.isEmpty ? "" : ", its worker said last:\(said)")
            }
            return CommandError(ExitCode.software, "nothing was settled for \(lasted):\(stages.joined())")
        }
    }
}
