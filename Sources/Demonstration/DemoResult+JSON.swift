import JSON
import Operations
import Simulation

extension DemoResult {
    /// One object, for tools.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 16_384)
        writer.object { writer in
            writer.member("run", runName)
            writer.member("isGood", problems.isEmpty)
            writer.key("problems")
            writer.strings(problems)
            writer.member("bodies", items.count)
            writer.key("kinds")
            writer.object { writer in
                for (kind, count) in counts {
                    writer.key(kind.rawValue)
                    writer.int(count)
                }
            }
            writer.member("milliseconds", Int64(duration / .milliseconds(1)))
            writer.key("reconciliation")
            reconciliation.write(to: &writer)
            writer.key("deadLetters")
            writer.object { writer in
                for (reason, count) in letters.counts.sorted(by: { $0.key < $1.key }) {
                    writer.key(reason)
                    writer.int(count)
                }
            }
            if let recovery {
                writer.member("recovered", recovery.publishedCount)
            }
            writer.member("users", users.count)
            writer.member("wrongUsers", userProblems.count)
        }
        return writer.bytes
    }
}
