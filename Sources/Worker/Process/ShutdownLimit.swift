import Dispatch
import Foundation
import Settings

/// Ends the process where its orderly end takes too long.
///
/// A broker or a database that keeps its connections and answers nothing would hold the end up for
/// the sum of all deadlines. Nothing is lost by it: what is not committed is read again, as after
/// any other end.
enum ShutdownLimit {
    /// Beyond the time for what is in work: for leaving the group and closing the clients.
    ///
    /// With the usual budget it is all over within the 30 s that Kubernetes gives.
    private static let closing = Duration.seconds(8)

    /// Begins to count.
    ///
    /// From any thread, also more than once.
    static func begin(budget: Duration, _ log: Log) {
        let limit = budget + closing
        let queue = DispatchQueue.global(qos: .userInitiated)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1)))) {
            log.error(
                "the end took too long, ended at once: what is not committed is read again",
                ["shutdown.limit_seconds": .seconds(limit)]
            )
            _exit(ExitCode.unavailable)
        }
    }
}
