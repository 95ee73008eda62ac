import JSON
import Kafka
import Records
import Testing
import TestSupport
import Simulation
import Worker

extension PipelineTests {
    /// Users' entitlements as consumers of the topics alone see them.
    @Suite(.timeLimit(.minutes(10))) struct FeedTests {
        private static let topics = [Topic.changed, Topic.current, Topic.outcomes]

        @Test(arguments: KafkaCluster.Kind.available, topics) func `every record of the feed fits its topic's schema`(
            kind: KafkaCluster.Kind, topic: String
        ) async throws {
            let records = try await EndToEndRun.of(kind).topics[topic] ?? []
            #expect(records.count > 50)
            let verdict = try PublishedSchema.topics.validate(records.compactMap(\.value), against: topic)
            #expect(verdict.isValid, "\(verdict.report.prefix(2_000))")
        }

        @Test(arguments: KafkaCluster.Kind.available)
        func `the changes alone add up to the rows, and no version is skipped`(kind: KafkaCluster.Kind) async throws {
            let run = try await EndToEndRun.of(kind)
            var versions: [String: Int64] = [:]
            var rows: [String: String] = [:]
            for record in run.topics[Topic.changed] ?? [] {
                let change = try JSONDocument(parsing: record.value ?? []).root
                let user = change["userID"]?.string ?? ""
                let version = change["version"]?.int64 ?? 0
                #expect(version == versions[user, default: 0] + 1, "\(user)")
                versions[user] = version
                rows[Self.row(change, of: user)] = Self.periods(change["new"])
            }
            #expect(rows.filter { !$0.value.isEmpty } == run.entitlements)
        }

        @Test(arguments: KafkaCluster.Kind.available) func `the newest states alone are the rows`(
            kind: KafkaCluster.Kind
        ) async throws {
            let run = try await EndToEndRun.of(kind)
            var states: [String: JSONValue] = [:]
            for record in run.topics[Topic.current] ?? [] {
                let state = try JSONDocument(parsing: record.value ?? []).root
                let user = String(decoding: record.key ?? [], as: UTF8.self)
                let former = states.updateValue(state, forKey: user)
                #expect(former?["version"]?.int64 ?? 0 <= state["version"]?.int64 ?? 0)
            }
            var rows: [String: String] = [:]
            for (user, state) in states {
                for held in state["entitlements"]?.elements.map(\.self) ?? [] {
                    rows[Self.row(held, of: user)] = Self.periods(held["periods"])
                }
            }
            #expect(rows == run.entitlements)
        }

        @Test(arguments: KafkaCluster.Kind.available)
        func `a request that waits for a body is answered, once for each of its observations`(kind: KafkaCluster.Kind)
            async throws
        {
            let run = try await EndToEndRun.of(kind)
            let waiting = Set(
                run.traffic.items.compactMap { item in item.headers.first { $0.name == "correlation-id" }?.value })
            var indices: [[UInt8]: Set<Int64>] = [:]
            var counts: [[UInt8]: Int64] = [:]
            for record in run.topics[Topic.outcomes] ?? [] {
                let outcome = try JSONDocument(parsing: record.value ?? []).root
                let id = record.key ?? []
                indices[id, default: []].insert(outcome["index"]?.int64 ?? -1)
                counts[id] = outcome["count"]?.int64
            }
            #expect(Set(indices.keys) == waiting)
            for (id, found) in indices { #expect(found == Set(0..<(counts[id] ?? 0))) }
        }

        private static func row(_ value: JSONValue, of user: String) -> String {
            let names = ["environment", "bundleID", "originalTransactionID", "entitlement"]
            return ([user] + names.map { value[$0]?.string ?? "" }).joined(separator: "|")
        }

        private static func periods(_ value: JSONValue?) -> String {
            (value?.elements.map(\.self) ?? []).map { period in
                let end = period["end"]?.int64.map(String.init) ?? "ever"
                return "\(period["start"]?.int64 ?? 0)-\(end)"
            }.joined(separator: ",")
        }
    }
}
