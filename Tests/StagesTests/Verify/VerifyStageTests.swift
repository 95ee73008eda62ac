import AppStore
import Foundation
import JSON
import Kafka
import Records
import Settings
import Telemetry
import TestSupport
import Testing
import Simulation
import Topology
import VerifyStage
import Worker

@Suite struct VerifyStageTests {
    static let now: Int64 = 1_767_225_600_000

    static func stage(
        for traffic: DemoTraffic, threadsMax: Int, registry: MetricsRegistry = MetricsRegistry(), clock: Int64 = .max
    ) throws -> VerifyStage {
        try VerifyStage(
            configuration: VerifierConfiguration(apps: traffic.configuredApps()), topic: "storekit.verified",
            threadsMax: threadsMax, metrics: VerifyMetrics(registry) { Timestamp(milliseconds: clock) },
            leaves: LeafWatch(registry, log: Log(RecordingLogHandler())) { Timestamp(milliseconds: now) })
    }

    static func records(_ traffic: DemoTraffic) -> [ConsumerRecord] {
        traffic.items.enumerated().map { index, item in
            ConsumerRecord(
                topicPartition: TopicPartition(topic: "storekit.raw", partition: 2), offset: Int64(index) + 100,
                timestampMilliseconds: 5, key: item.key, value: item.value,
                headers: item.headers.map { KafkaHeader(name: $0.name, value: $0.value) } + [
                    KafkaHeader(name: "x-ingest-host", text: "a")
                ])
        }
    }

    @Test(arguments: [1, 4]) func `each record gets its verdict, in order`(threadsMax: Int) async throws {
        let traffic = try DemoTraffic(bodyCount: 400, now: Self.now)
        let records = Self.records(traffic)
        let verdicts = try await Self.stage(for: traffic, threadsMax: threadsMax).process(records)
        #expect(verdicts.count == records.count)
        for (item, verdict) in zip(traffic.items, verdicts) {
            #expect(verdict.refusal?.reason == item.expectedRefusal, "\(item.kind)")
        }
        #expect(verdicts.contains { $0.disposition == .deadLettered })
    }

    @Test func `the user comes from ingestion's header alone`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let item = try #require(traffic.items.first { $0.expectedRefusal == nil })
        let control = Array("anna\u{85}".utf8)
        let headers: [([[UInt8]?], String?)] = [
            ([], nil), ([Array("anna".utf8)], "anna"),
            ([Array(repeating: 0x61, count: 255)], String(repeating: "a", count: 255)),
            ([Array(repeating: 0x61, count: 256)], nil), ([[]], nil), ([nil], nil), ([[0xff]], nil),
            ([[0x61, 0x0a]], nil), ([control], nil), ([Array("anna ".utf8)], nil), ([Array("\u{2066}anna".utf8)], nil),
            ([Array("anna".utf8), Array("bob".utf8)], nil),
        ]
        let records = headers.enumerated().map { index, named in
            ConsumerRecord(
                "storekit.raw", at: Int64(index), key: item.key, value: item.value,
                headers: named.0.map { KafkaHeader(name: "user-id", value: $0) })
        }
        let registry = MetricsRegistry()
        let verdicts = try await Self.stage(for: traffic, threadsMax: 1, registry: registry).process(records)
        for (verdict, expected) in zip(verdicts, headers.map(\.1)) {
            let output = try #require(verdict.outputs.first)
            let observation = try Observation(value: output.value)
            #expect(observation.ingestUserID?.text == expected)
            #expect(output.headers.isEmpty)
        }
        let text = String(decoding: registry.exposition(), as: UTF8.self)
        #expect(text.contains("verify_ignored_ingest_users_total 9"), "\(text)")
    }

    @Test func `new kinds are counted by their outcome, and delay nothing`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let app = #""bundleId":"com.example.pro","environment":"Production""#
        let bodies: [(name: String, members: String)] = [
            ("unclaimInfo", app), ("unclaimInfo", ""), ("pledgeInfo", app), ("pledgeInfo", ""),
        ]
        let jws = try bodies.map { name, members in
            var fields = NotificationFields()
            fields.overrides[name] = "{\(members)}"
            return try traffic.authority.sign(fields.json)
        }
        let registry = MetricsRegistry()
        let stage = try Self.stage(for: traffic, threadsMax: 1, registry: registry)
        let counts = {
            String(decoding: registry.exposition(), as: UTF8.self).split(separator: "\n").filter {
                $0.contains("verify_unknown_kinds_total{")
            }.map(String.init).sorted()
        }
        // A counter that first appears at 1 shows no increase, and no alert would fire.
        #expect(
            counts() == [
                #"entitlements_verify_unknown_kinds_total{result="ignored"} 0"#,
                #"entitlements_verify_unknown_kinds_total{result="recorded"} 0"#,
            ])
        let records = (jws.map(Body.notification) + [Body.notificationHistory(jws)]).enumerated().map { index, body in
            ConsumerRecord("storekit.raw", at: Int64(index), value: body)
        }
        let verdicts = try await stage.process(records)
        let expected: [Disposition] = [.forwarded, .ignored, .forwarded, .ignored, .forwarded]
        #expect(verdicts.map(\.disposition) == expected)
        #expect(verdicts.map(\.outputs.count) == [1, 0, 1, 0, 2])
        #expect(
            counts() == [
                #"entitlements_verify_unknown_kinds_total{result="ignored"} 4"#,
                #"entitlements_verify_unknown_kinds_total{result="recorded"} 2"#,
            ])
    }

    @Test func `an observation names its body's position and has its purchase's key`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let records = Self.records(traffic)
        let verdicts = try await Self.stage(for: traffic, threadsMax: 2).process(records)
        for (record, verdict) in zip(records, verdicts) {
            for (index, output) in verdict.outputs.enumerated() {
                let observation = try Observation(value: output.value)
                #expect(observation.source?.position.offset == record.offset)
                #expect(observation.source?.position.partition == 2)
                #expect(observation.source?.index == index)
                #expect(observation.source?.count == verdict.outputs.count)
                #expect(output.key == observation.partitionKey)
                #expect(output.topic == "storekit.verified")
                #expect(output.partition == nil)
            }
        }
    }

    @Test func `only correlation and trace headers are forwarded`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let verdicts = try await Self.stage(for: traffic, threadsMax: 1).process(Self.records(traffic))
        let names = Set(verdicts.flatMap(\.outputs).flatMap(\.headers).map(\.name))
        #expect(names == ["correlation-id", "traceparent"])
    }

    @Test func `a signed date in the future is forwarded and counted`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let registry = MetricsRegistry()
        let stage = try Self.stage(for: traffic, threadsMax: 1, registry: registry, clock: 0)
        let forwarded = try await stage.process(Self.records(traffic)).flatMap(\.outputs).count
        let text = String(decoding: registry.exposition(), as: UTF8.self)
        #expect(text.contains("entitlements_verify_future_signed_dates_total \(forwarded)\n"))
    }

    @Test func `an API response without items is ignored`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let record = ConsumerRecord(
            "storekit.raw", at: 0, value: Array(#"{"signedTransactions":[],"hasMore":false}"#.utf8))
        let verdicts = try await Self.stage(for: traffic, threadsMax: 1).process([record])
        #expect(verdicts.map(\.disposition) == [.ignored])
        #expect(verdicts.flatMap(\.outputs).isEmpty)
    }

    @Test func `every root file without a certificate is named at once`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let garbage = folder.appending(path: "garbage.cer").path
        let empty = folder.appending(path: "empty.cer").path
        try Data("no certificate".utf8).write(to: URL(filePath: garbage))
        try Data().write(to: URL(filePath: empty))
        let apps = """
            [{"bundle_id": "a", "environment": "Sandbox", "roots": ["\(garbage)"]},
             {"bundle_id": "b", "environment": "Sandbox", "roots": ["\(empty)"]}]
            """
        let schema = SettingsSchema(VerifySettings.declarations)
        let values = try schema.read(environment: ["APPS": apps])
        let error = try #require(throws: SettingsError.self) { try VerifierConfiguration(values) }
        let text = error.description
        #expect(text.contains("root file \(garbage): expected certificates in PEM, or one in DER"))
        #expect(text.contains("root file \(empty): is empty or cannot be read"))
    }
}
