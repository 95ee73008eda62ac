import AppStore
import DeadLetters
import Store
import Synchronization
import Telemetry

/// The replays that this process runs; each continues after the user has closed the page.
final class ReplayRuns: Sendable {
    private struct Run {
        let task: Task<Void, Never>
        let stop: ReplayStop
    }

    let replays: Replays
    private let log: Log
    private let runs = Mutex<[Int64: Run]>([:])

    init(_ replays: Replays, log: Log) {
        self.replays = replays
        self.log = log
    }

    /// Starts a task that sends the remaining records of a replay.
    ///
    /// Does nothing if this process runs the replay already. A lock in the database excludes other processes.
    func start(_ number: Int64, who: AuditorName) {
        let stop = ReplayStop()
        runs.withLock { running in
            guard running[number] == nil else { return }
            let task = Task { [self] in
                do { _ = try await replays.run(number, who: who, stop: stop) } catch {
                    log.warning("replay interrupted", ["error": .string("\(error)")])
                }
                runs.withLock { _ = $0.removeValue(forKey: number) }
            }
            running[number] = Run(task: task, stop: stop)
        }
    }

    func isRunning(_ number: Int64) -> Bool { runs.withLock { $0[number] != nil } }

    /// Requests the end of a replay in order.
    ///
    /// - Returns: false if this process does not run the replay.
    func stop(_ number: Int64, why: String) -> Bool {
        runs.withLock { runs in
            runs[number]?.stop.request(why)
            return runs[number] != nil
        }
    }

    /// Ends all replays in order, so that they can be continued later, and waits for their ends.
    func stopAll() async {
        let running = runs.withLock { Array($0.values) }
        for run in running { run.stop.request("the console ends") }
        for run in running { await run.task.value }
    }
}
