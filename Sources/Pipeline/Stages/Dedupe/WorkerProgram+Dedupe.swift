import Store
import Holdings
import Records
import Settings
import Topology
package import Worker

extension WorkerProgram {
    package static let dedupe = WorkerProgram(
        .dedupe, summary: "Drops what says nothing new about a transaction.",
        declarations: DatabaseSettings.declarations + DedupeSettings.declarations,
        otherSections: SharedSettings.sections, dependency: .database,
        connections: { await DatabaseCheck.findings($0, of: .dedupe, role: .dedupeWorker) },
        make: { parts in
            DedupeStage(
                client: parts.databaseClient(.dedupe), uniqueTopic: parts.settings.topic(Topic.unique),
                retention: parts.settings[DedupeSettings.retention],
                pruneInterval: parts.settings[DedupeSettings.pruneInterval], limits: parts.limits)
        })
}
