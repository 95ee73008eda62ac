import Store
import Holdings
import Records
import Settings
import Topology
package import Worker

extension WorkerProgram {
    /// The program `link-worker`, whose settings decide owners but refuse no record.
    package static let link = WorkerProgram(
        .link, summary: "Finds the user behind each purchase.",
        declarations: DatabaseSettings.declarations + LinkSettings.declarations, otherSections: SharedSettings.sections,
        dependency: .database, connections: { await DatabaseCheck.findings($0, of: .link, role: .linkWorker) },
        make: { parts in
            LinkStage(
                client: parts.databaseClient(.link), rules: LinkSettings.rules(parts.settings),
                linkedTopic: parts.settings.topic(Topic.linked), metrics: LinkMetrics(parts.metrics), log: parts.log)
        })
}
