import Operations
import Postgres
import Demonstration
import Foundation
import Kafka
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

/// A fault that is made, the alerts that have to fire by it, and how it is mended.
struct AlertFault: Sendable {
    let name: String
    let alerts: Set<String>
    let make: @Sendable (MonitoringRig) async throws -> Void
    let mend: @Sendable (MonitoringRig) async throws -> Void

    /// Makes the fault, waits for its alerts, mends it, and waits until they have cleared.
    func check(_ rig: MonitoringRig) async throws {
        try await make(rig)
        var fired: Set<String> = []
        await eventually(within: .seconds(120), every: .milliseconds(250), "\(name): fired") {
            fired.formUnion(rig.prometheus.firing())
            return alerts.isSubset(of: fired)
        }
        #expect(alerts.isSubset(of: fired), "\(name): \(alerts.subtracting(fired)) did not fire")
        try await mend(rig)
        await eventually(within: .seconds(120), every: .milliseconds(250), "\(name): cleared") {
            rig.prometheus.firing().isDisjoint(with: alerts)
        }
        let left = rig.prometheus.firing().intersection(alerts)
        #expect(left.isEmpty, "\(name): \(left) did not clear")
        print("\(name): \(alerts.sorted().joined(separator: ", ")) fired and cleared")
    }

    static let databaseAway = AlertFault(
        name: "the database is away",
        alerts: [
            "EntitlementsDatabaseRetrying", "EntitlementsWorkerNotReady",
            "EntitlementsCustomersWaiting", "EntitlementsNothingCommitted",
        ],
        make: { rig in
            try await rig.server.stop(.immediate)
            try await rig.pipeline.publish(rig.pipeline.traffic.items.filter { !$0.isRefused })
        },
        mend: { try await $0.server.start() }
    )

    static let all = [
        databaseAway, brokerAway, workerGone, refusedBodies, settingsFile, account, noAccount,
        lateBodies, unknownProducts,
    ]

    private static let brokerAway = AlertFault(
        name: "the brokers are away",
        alerts: ["EntitlementsBrokerRetrying", "EntitlementsWorkerNotReady"],
        make: { try await $0.broker.stop(.killed) },
        mend: { try await $0.broker.startAgain(after: .killed) }
    )

    private static let workerGone = AlertFault(
        name: "the only copy of a worker is killed",
        alerts: ["EntitlementsWorkerGone", "EntitlementsStageMissing"],
        make: { rig in
            let copy = rig.pipeline.copies.first { $0.stage == .link }
            try await rig.pipeline.kill(try #require(copy))
        },
        mend: { rig in
            try rig.pipeline.start(.link)
            try await rig.pipeline.waitUntilReady()
            try rig.prometheus.scrape(rig.pipeline.copies)
        }
    )

    /// Published again and again until every alert about them has had its time.
    private static let refusedBodies = AlertFault(
        name: "bodies of every kind that is refused",
        alerts: [
            "EntitlementsForgedBodies", "EntitlementsAttackSource", "EntitlementsStaleBodies",
            "EntitlementsMisroutedBodies", "EntitlementsCorruptBodies",
            "EntitlementsDeadLetterRatio", "EntitlementsDeadLettersAlike",
        ],
        make: { rig in
            let refused = rig.pipeline.traffic.items.filter(\.isRefused)
            for _ in 0..<12 {
                try await rig.pipeline.publish(refused)
                try await rig.pipeline.settle()
            }
        },
        mend: { _ in }
    )

    private static let settingsFile = AlertFault(
        name: "a settings file that is changed, and then unreadable",
        alerts: ["EntitlementsSettingsRefused", "EntitlementsSettingsRestartNeeded"],
        make: { rig in
            let text = try String(contentsOfFile: rig.settingsPath, encoding: .utf8)
            try text.write(toFile: rig.settingsPath + ".good", atomically: true, encoding: .utf8)
            let changed = #"{"batch": {"records_max": 900},"# + text.dropFirst()
            try changed.write(toFile: rig.settingsPath, atomically: true, encoding: .utf8)
            await eventually(within: .seconds(60), every: .milliseconds(250)) {
                rig.prometheus.firing().contains("EntitlementsSettingsRestartNeeded")
            }
            try "{".write(toFile: rig.settingsPath, atomically: true, encoding: .utf8)
        },
        mend: { rig in
            let good = try String(contentsOfFile: rig.settingsPath + ".good", encoding: .utf8)
            try good.write(toFile: rig.settingsPath, atomically: true, encoding: .utf8)
        }
    )

    private static let unknownProducts = AlertFault(
        name: "purchases of products that the catalog does not list",
        alerts: ["EntitlementsUnknownProduct"],
        make: { rig in
            let other = #"{"products": {"other": {"type": "non-consumable"}}}"#
            let answer = try await rig.run(
                "echo '\(other)' > other.json && pipeline catalog apply other.json"
            )
            #expect(answer.exitCode == 0, "\(answer.output)")
            try await rig.pipeline.withDatabase { connection in
                // What was known already is no news.
                try await connection.execute(
                    script: """
                        TRUNCATE dedupe_revisions, dedupe_notifications, transactions, renewals,
                            revisions
                        """
                )
            }
            try await rig.pipeline.publish(rig.pipeline.traffic.items.filter { !$0.isRefused })
        },
        mend: { _ in }
    )

    private static let account = AlertFault(
        name: "an account that does not add up",
        alerts: ["EntitlementsReconcileFailed"],
        make: { rig in
            // A commit without counts, of a group that nobody else is in.
            let prefix = rig.pipeline.layout.prefix + "fault."
            let consumer = try KafkaConsumer(
                configuration: rig.pipeline.cluster.client
                    .merging(["group.id": "\(prefix)verify"]) { $1 }
            )
            let raw = TopicPartition(topic: rig.pipeline.layout.prefix + Topic.raw, partition: 0)
            let outcome = await consumer.commit(
                [raw: OffsetCommit(offset: 1, metadata: "")],
                deadline: .seconds(10)
            )
            #expect(outcome.failures.isEmpty)
            await consumer.close(deadline: .seconds(5))
            let answer = try await rig.run(reconcile(rig), ["KAFKA_GROUP_PREFIX": prefix])
            #expect(answer.exitCode == 1, "\(answer.output)")
        },
        mend: { rig in
            let answer = try await rig.run(reconcile(rig))
            #expect(answer.exitCode == 0, "\(answer.output)")
        }
    )

    private static let noAccount = AlertFault(
        name: "no account is made for a while",
        alerts: ["EntitlementsReconcileOverdue"],
        make: { _ in },
        mend: { rig in _ = try await rig.run(reconcile(rig)) }
    )

    private static func reconcile(_ rig: MonitoringRig) -> String {
        "pipeline reconcile --metrics \(rig.prometheus.metricsFile)"
    }

    /// Bodies that are settled later than the objective's 30 s.
    private static let lateBodies = AlertFault(
        name: "bodies that wait longer than the objective",
        alerts: ["EntitlementsBudgetBurnsFast", "EntitlementsBudgetBurns"],
        make: { rig in
            try await rig.server.stop(.fast)
            try await rig.pipeline.publish(rig.pipeline.traffic.items.filter { !$0.isRefused })
            await eventually(within: .seconds(60), every: .milliseconds(250)) {
                rig.prometheus.query("max(entitlements_lag_seconds)")?.first?.value ?? 0 > 31
            }
            try await rig.server.start()
        },
        mend: { rig in
            try await rig.pipeline.publish(rig.pipeline.traffic.items.filter { !$0.isRefused })
        }
    )
}

extension DemoItem {
    /// Whether it ends as a dead letter.
    fileprivate var isRefused: Bool { expectedRefusal != nil }
}
