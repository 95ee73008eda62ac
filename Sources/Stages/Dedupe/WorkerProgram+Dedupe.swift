import Store
import Records
import Settings
package import Worker

extension WorkerProgram {
    /// `dedupe-worker`.
    package static let dedupe = WorkerProgram(
        .dedupe,
        summary: "Drops what says nothing new about a transaction.",
        declarations: DatabaseSettings.declarations + DedupeSettings.declarations,
        hasDatabase: true,
        make: { parts in
            DedupeStage(
                client: DatabaseSettings.client(
                    parts.settings,
                    applicationName: StageName.dedupe.program,
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
