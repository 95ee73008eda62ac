import AppStore
import Kafka
import Operations
import Records
import Telemetry
import TestSupport
import Testing
import Simulation
import Topology

@testable import Demonstration

extension PipelineTests {
    /// A lively day of a small company through all four workers, once for each kind of broker.
    @Suite(.timeLimit(.minutes(10))) struct EndToEndTests {
        @Test(arguments: KafkaCluster.Kind.available) func `the rows are the fold of the bodies`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            let differences = run.picture.differences(from: run.reference.picture)
            #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
            for table in ["transactions", "renewals", "owners", "entitlements", "ledger"] {
                #expect(run.picture.count(table) > 10, "\(table) is nearly empty")
            }
            #expect(run.picture.count("renewal_spans") > 0)
        }

        @Test(arguments: KafkaCluster.Kind.available) func `each user may use their own purchases, and nobody else's`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            let expected = Dictionary(uniqueKeysWithValues: run.traffic.users.map { ($0.userID, DemoUserState($0)) })
                .filter { $0.value != DemoUserState() }
            for user in Set(run.users.keys).union(expected.keys) {
                let found = run.users[user]
                #expect(found == expected[user], "\(user)")
            }
            #expect(expected.count > 20)
        }

        @Test(arguments: KafkaCluster.Kind.available) func `a Sandbox purchase unlocks nothing in Production`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            let testers = run.traffic.users.filter { $0.entitlements.isEmpty && !$0.sandboxEntitlements.isEmpty }
            #expect(!testers.isEmpty)
            for tester in testers {
                let state = run.users[tester.userID] ?? DemoUserState()
                #expect(state.sandboxEntitlements == tester.sandboxEntitlements)
                #expect(state.entitlements.isEmpty)
            }
        }

        @Test(arguments: KafkaCluster.Kind.available)
        func `each bad record is a dead letter with its reason, byte for byte`(kind: KafkaCluster.Kind) async throws {
            let run = try await EndToEndRun.of(kind)
            let differences = run.refused.differences(from: run.reference.refused)
            #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
            let named = Dictionary(grouping: run.letters, by: \.reason).mapValues(\.count)
            let wanted = Dictionary(grouping: run.traffic.items.compactMap(\.expectedRefusal), by: \.rawValue)
                .mapValues(\.count)
            #expect(named == wanted)
            #expect(wanted.count > 10, "the traffic is to break many rules")
        }

        @Test(arguments: KafkaCluster.Kind.available) func `a dead letter names its original's position`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            let raw = Dictionary(
                uniqueKeysWithValues: (run.topics[Topic.raw] ?? []).map { record in (RecordPosition(record), record) })
            let letters = Dictionary(
                uniqueKeysWithValues: (run.topics[Topic.deadLetter] ?? []).map { record in
                    (RecordPosition(record), DeadLetterOriginal(record))
                })
            for letter in run.letters {
                let original = try #require(raw[letter.source])
                let kept = try #require(letters[letter.position])
                #expect(kept.key == original.key && kept.value == original.value)
                #expect(kept.headers == original.headers)
            }
        }

        @Test(arguments: KafkaCluster.Kind.available) func `each record of each stage has one disposition`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            #expect(run.reconciliation.problems.isEmpty, "\(run.reconciliation.problems)")
            #expect(run.reconciliation[.verify]?.settled == Int64(EndToEndRun.bodyCount))
            let stages = run.reconciliation.stages.filter(\.stage.refusesRecords)
            let letters = stages.map { $0.counts[.deadLettered] ?? 0 }
            #expect(letters == [Int64(run.letters.count), 0, 0, 0])
            for stage in stages {
                #expect(stage.counts[.skipped] ?? 0 == 0, "\(stage.stage.name)")
                #expect(stage.settled > 0, "\(stage.stage.name)")
            }
        }

        @Test(arguments: KafkaCluster.Kind.available) func `the whole topic once more changes no row`(
            kind: KafkaCluster.Kind
        ) async throws {
            for replay in try await EndToEndRun.of(kind).replays {
                #expect(replay.changedTables.isEmpty, "\(replay.name)")
                #expect(replay.differences.isEmpty, "\(replay.name)")
                #expect(replay.tableCount > 12)
            }
        }

        @Test(arguments: KafkaCluster.Kind.available) func `no log and no metric has a token, JWS or password`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            #expect(run.secretsFound.isEmpty)
            let logs = Topology.stages.map { "\($0.name)-1.log" }
            #expect(Set(run.logLineCounts.keys) == Set(logs))
            #expect(run.logLineCounts.values.allSatisfy { $0 > 0 }, "\(run.logLineCounts)")
            #expect(run.metrics.count == Topology.stages.count)
            for (stage, text) in run.metrics { #expect(text.contains("_total"), "\(stage.name) has no metrics") }
        }

        @Test(arguments: KafkaCluster.Kind.available) func `a stop ends each worker in order`(kind: KafkaCluster.Kind)
            async throws
        { #expect(try await EndToEndRun.of(kind).failedStops.isEmpty) }
    }
}
