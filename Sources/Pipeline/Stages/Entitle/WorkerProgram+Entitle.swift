import Store
import Holdings
import Records
import Settings
import Topology
package import Worker

extension WorkerProgram {
    package static let entitle = WorkerProgram(
        .entitle, summary: "Records facts and projects from them what each user may use.",
        declarations: DatabaseSettings.declarations + EntitleSettings.declarations,
        otherSections: SharedSettings.sections, dependency: .database,
        connections: { await DatabaseCheck.findings($0, of: .entitle, role: .entitleWorker) },
        make: { parts in
            EntitleStage(
                client: parts.databaseClient(.entitle),
                shardsMax: min(parts.settings[EntitleSettings.shards], parts.settings[DatabaseSettings.connectionsMax]),
                feed: FeedTopics(
                    changed: parts.settings.topic(Topic.changed), current: parts.settings.topic(Topic.current),
                    listsSubscriptions: parts.settings[EntitleSettings.currentSubscriptions]),
                expiryNotice: parts.settings[EntitleSettings.expiryNotice], metrics: EntitleMetrics(parts.metrics),
                log: parts.log)
        })
}
