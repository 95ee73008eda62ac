import Foundation
import Kafka
import Operations
import Records
import TestSupport
import Testing
import Topology
import Worker

/// Faults of operators: settings, and the hourly account.
extension AlertFault {
    static let settings = [settingsFile]
    static let accounts = [account, noAccount, noTask, copiedOffsets]

    private static let settingsFile = AlertFault(
        name: "a settings file that is changed, and then unreadable",
        alerts: ["EntitlementsSettingsRefused", "EntitlementsSettingsRestartNeeded"],
        make: { rig in
            try rig.writeSettings { #"{"batch": {"records_max": 900},"# + $0.dropFirst() }
            await eventually(every: .milliseconds(250)) {
                rig.prometheus.firing()?.contains("EntitlementsSettingsRestartNeeded") ?? false
            }
            try rig.writeSettings { _ in "{" }
        }, mend: { try $0.writeSettings() })

    private static let account = AlertFault(
        name: "an account that does not add up", alerts: ["EntitlementsReconcileFailed"],
        prepare: { try await $0.reconcile() },
        make: { rig in
            // A commit without counts, of a group that nobody else is in.
            let prefix = rig.pipeline.layout.prefix + "fault."
            let raw = TopicPartition(topic: rig.pipeline.layout.prefix + Topic.raw, partition: 0)
            try await rig.commit([raw: OffsetCommit(offset: 1, metadata: "")], forGroup: "\(prefix)verify")
            try await rig.reconcile(["KAFKA_GROUP_PREFIX": prefix], exitCode: 1)
        }, mend: { try await $0.reconcile() })

    private static let copiedOffsets = AlertFault(
        name: "offsets are copied without their counts", alerts: ["EntitlementsRecordsPassedOver"],
        make: { rig in
            let prefix = rig.pipeline.layout.prefix
            try await rig.stop(.verify)
            let metadata = try await rig.pipeline.admin.metadata(deadline: .seconds(10))
            let committed = try await rig.pipeline.admin.committedOffsets(
                group: "\(prefix)verify", metadata[topic: prefix + Topic.raw]?.partitions ?? [], deadline: .seconds(10))
            try await rig.commit(
                committed.compactMapValues(\.offset).mapValues { OffsetCommit(offset: $0, metadata: "") },
                forGroup: "\(prefix)copied.verify")
            try await rig.restart(.verify, ["KAFKA_GROUP_PREFIX": "\(prefix)copied."])
        },
        mend: { rig in
            try await rig.stop(.verify)
            let state = "pipeline account state --stage verify --by operator --reason copied"
            let copied = ["KAFKA_GROUP_PREFIX": "\(rig.pipeline.layout.prefix)copied."]
            let answer = try await rig.run(state, copied)
            #expect(answer.exitCode == 0, "\(answer.output)")
            try await rig.restart(.verify, copied)
        })

    private static let noAccount = AlertFault(
        name: "no account is made for a while", alerts: ["EntitlementsReconcileOverdue"],
        prepare: { try await $0.reconcile() }, make: { _ in }, mend: { try await $0.reconcile() })

    private static let noTask = AlertFault(
        name: "a daily task has found something", alerts: ["EntitlementsTaskOverdue"],
        make: { rig in
            try "entitlements_task_success_timestamp_seconds{task=\"prune\"} 0\n".write(
                toFile: rig.prometheus.taskFile("prune"), atomically: true, encoding: .utf8)
        }, mend: { try await $0.perform("prune") })
}
