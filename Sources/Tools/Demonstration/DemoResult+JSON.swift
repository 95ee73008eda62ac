import JSON
import Operations
import Simulation

extension DemoResult: JSONRepresentable {
    var json: JSONContent {
        [
            "run": runName, "is_good": problems.isEmpty, "problems": problems, "bodies": items.count,
            "kinds": JSONContent.object(counts.map { ($0.rawValue, $1.json) }), "duration_seconds": duration,
            "reconciliation": reconciliation, "dead_letters": letters.counts, "recovered": recovery?.publishedCount,
            "users": users.count, "wrong_users": userProblems.count,
        ]
    }
}
