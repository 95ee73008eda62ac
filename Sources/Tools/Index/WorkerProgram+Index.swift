import DeadLetters
import Holdings
import Records
import Settings
import Store
import Topology
package import Worker

extension WorkerProgram {
    /// The worker of `dead-letter index`.
    package static let deadLetterIndex = WorkerProgram(
        .deadLetterIndex, summary: "Keeps the index of the dead-letter topic.",
        declarations: DatabaseSettings.declarations, otherSections: SharedSettings.sections.union(["console"]),
        dependency: .database,
        connections: { await DatabaseCheck.findings($0, of: .deadLetterIndex, role: .deadLetterIndex) },
        make: { parts in
            IndexStage(
                DeadLetterTopic(
                    name: parts.settings.topic(Topic.deadLetter),
                    configuration: parts.settings.clientProperties(.deadLetterIndex)),
                client: parts.databaseClient(.deadLetterIndex), log: parts.log)
        })
}
