import Foundation
import Kafka
import KitWrappers
import Postgres
import Simulation
import TestSupport
import Testing
import Topology

/// Faults of the workers' base: the database, the brokers, their own processes.
extension AlertFault {
    static let servers = [
        databaseAway, brokerAway, workerGone, indexGone, lockedTables, brokerRefusesWrites, lateBodies,
    ]

    static let databaseAway = AlertFault(
        name: "the database is away",
        alerts: [
            "EntitlementsDatabaseRetrying", "EntitlementsWorkerNotReady", "EntitlementsCustomersWaiting",
            "EntitlementsNothingCommitted",
        ],
        make: { rig in
            try await rig.server.stop(.immediate)
            try await rig.pipeline.publish(rig.acceptedItems)
        }, mend: { try await $0.server.start() })

    private static let brokerAway = AlertFault(
        name: "the brokers are away", alerts: ["EntitlementsBrokerRetrying", "EntitlementsWorkerNotReady"],
        make: { try await $0.broker.stop(.killed) }, mend: { try await $0.broker.startAgain(after: .killed) })

    private static let workerGone = AlertFault(
        name: "the only copy of a worker is killed", alerts: ["EntitlementsWorkerGone", "EntitlementsStageMissing"],
        make: { rig in
            let copy = rig.pipeline.copies.first { $0.stage == .link }
            try await rig.pipeline.kill(try #require(copy))
        }, mend: { try await $0.restart(.link) })

    private static let indexGone = AlertFault(
        name: "the index of dead letters is killed", alerts: ["EntitlementsIndexBehind"],
        make: { rig in
            let copy = rig.pipeline.copies.first { $0.stage == .deadLetterIndex }
            try await rig.pipeline.kill(try #require(copy))
        }, mend: { try await $0.restart(.deadLetterIndex) })

    /// A worker with too few connections, whose statements all wait.
    private static let lockedTables = AlertFault(
        name: "a session of somebody else locks tables",
        alerts: ["EntitlementsConnectionsExhausted", "EntitlementsWorkersBusy", "EntitlementsLinksWaiting"],
        make: { rig in
            try await rig.restart(.entitle, ["DATABASE_CONNECTIONS_MAX": "1"])
            try await rig.forgetDuplicates()
            // No fact is new, so that reading has to wait.
            try await rig.lock("transactions IN ACCESS EXCLUSIVE MODE")
            try await rig.pipeline.publish(rig.acceptedItems)
            // Only after link-worker has let them through.
            try await eventually("entitle-worker waits for its database") {
                try await rig.waitsForLock("entitle-worker")
            }
            try await rig.lock("owners IN EXCLUSIVE MODE")
            try await rig.pipeline.execute("UPDATE account_links SET user_id = 'new-' || user_id")
        },
        mend: { rig in
            await rig.unlock()
            try await rig.pipeline.execute("UPDATE account_links SET user_id = substr(user_id, 5)")
        }, restore: { try await $0.restart(.entitle) })

    /// Refused writes, as by missing rights on the topics of the feed or too few brokers.
    private static let brokerRefusesWrites = AlertFault(
        name: "the brokers refuse every write while a new catalog changes what users hold",
        alerts: ["EntitlementsFeedWaiting", "EntitlementsFeedBacklog"],
        make: { rig in
            let refusals = Array(repeating: MockError.notEnoughReplicas, count: 20_000)
            try rig.broker.cluster.mock?.fail(.produce, with: refusals)
            try await rig.apply(catalog: rig.catalog { $0 + "-renamed" })
        }, mend: { try $0.broker.cluster.mock?.clearFailures(.produce) },
        restore: { rig in try await rig.apply(catalog: rig.catalog { $0 }) })

    /// Bodies that are settled later than the objective's 30 s.
    private static let lateBodies = AlertFault(
        name: "bodies that wait longer than the objective",
        alerts: ["EntitlementsBudgetBurnsFast", "EntitlementsBudgetBurns", "EntitlementsBudgetSpentSlowly"],
        make: { rig in
            try await rig.server.stop(.fast)
            try await rig.pipeline.publish(rig.acceptedItems)
            await eventually(every: .milliseconds(250)) {
                rig.prometheus.query("max(entitlements_lag_seconds)")?.first?.value ?? 0 > 31
            }
            try await rig.server.start()
        }, mend: { rig in try await rig.pipeline.publish(rig.acceptedItems) })

    /// Records lost to retention, here to that of the mock, which keeps 4.6 MB of a partition.
    static let lostRecords = AlertFault(
        name: "retention removes records before they are read", alerts: ["EntitlementsRecordsSkipped"],
        make: { rig in
            let copy = rig.pipeline.copies.first { $0.stage == .verify }
            try await rig.pipeline.stop(try #require(copy))
            for _ in 0..<8 {
                // Incompressible, and not larger than a body may be.
                var random = SystemRandomNumberGenerator()
                let body = (0..<900_000).map { _ in UInt8.random(in: 128...255, using: &random) }
                try await rig.post(body)
            }
            try await rig.restart(.verify)
        }, mend: { _ in })
}
