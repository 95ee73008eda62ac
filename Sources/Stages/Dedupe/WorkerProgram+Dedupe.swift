import Store
import Records
import Settings
import Topology
package import Worker

extension WorkerProgram {
    /// `dedupe-worker`.
    package static let dedupe = WorkerProgram(
        .dedupe,
        summary: "Drops what says nothing new about a transaction.",
        declarations: DatabaseSettings.declarations + DedupeSettings.declarations,
        otherSections: SharedSettings.sections,
        dependency: .database,
        make: { parts in
            DedupeStage(
                client: DatabaseSettings.client(
                    parts.settings,
                    applicationName: StageDescription.dedupe.program,
                    sessionTimeout: parts.settings[WorkerSettings.sessionTimeout]
                ),
                uniqueTopic: parts.settings.topic(Topic.unique),
                retention: parts.settings[DedupeSettings.retention],
                pruneInterval: parts.settings[DedupeSettings.pruneInterval],
                limits: parts.limits
            )
        }
    )
}
