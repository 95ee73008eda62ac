import Store
import Records
import Settings
package import Worker

extension WorkerProgram {
    /// `entitle-worker`.
    package static let entitle = WorkerProgram(
        .entitle,
        summary: "Records facts and projects from them what each user may use.",
        declarations: DatabaseSettings.declarations + EntitleSettings.declarations,
        hasDatabase: true,
        make: { parts in
            EntitleStage(
                client: DatabaseSettings.client(
                    parts.settings,
                    applicationName: StageName.entitle.program,
                    sessionTimeout: parts.settings[WorkerSettings.sessionTimeout]
                ),
                lanes: min(
                    parts.settings[EntitleSettings.lanes],
                    parts.settings[DatabaseSettings.connectionsMax]
                ),
                feed: FeedTopics(
                    changed: parts.settings.topic(Topic.changed),
                    current: parts.settings.topic(Topic.current)
                ),
                metrics: EntitleMetrics(parts.metrics),
                log: parts.log
            )
        }
    )
}
