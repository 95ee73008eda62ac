import AppStore
import Kafka
import KitWrappers
import OpenSSL
import Postgres
import Records
import Store
import Synchronization
import TestSupport
import Testing
import Topology

@testable import DeadLetters
@testable import Worker

/// The environment of a replay: a raw topic, a dead-letter topic with its index, and a database;
/// `ReplayStage` plays the stage.
final class ReplayRig: Sendable {
    let cluster: KafkaCluster
    let names: ReplayNames
    let database: PostgresOptions
    let client: PostgresClient
    let producer: KafkaProducer
    let letterTopic: String
    let rawTopic: String
    let auditor: AuditorName
    /// The last link of each chain.
    private let heads = Mutex<[ChainName: ChainHead]>([:])

    /// - Parameter ownDatabase: replaces the server that all tests share.
    init(_ kind: KafkaCluster.Kind = .mock, ownDatabase: PostgresOptions? = nil) async throws {
        cluster = try await KafkaCluster(kind)
        let prefix = cluster.name("replay") + "."
        names = ReplayNames(kafka: cluster.client, topicPrefix: prefix, groupPrefix: prefix)
        letterTopic = prefix + Topic.deadLetter
        rawTopic = prefix + Topic.raw
        if let ownDatabase {
            database = ownDatabase
        } else {
            database = try await PostgresServer.shared.migratedDatabase()
        }
        client = PostgresClient(database, connectionsMax: 2)
        producer = try KafkaProducer(configuration: cluster.client)
        auditor = try #require(AuditorName("kim"))
        let topics = [Topic.raw, Topic.verified, Topic.unique, Topic.linked, Topic.deadLetter]
        for topic in topics { try await create(prefix + topic) }
    }

    private func create(_ topic: String) async throws {
        if let mock = cluster.mock { return try mock.createTopic(topic, partitions: 2) }
        let admin = try KafkaAdmin(configuration: cluster.client)
        let new = NewTopic(name: topic, partitions: 2, replication: 1)
        _ = try await admin.createTopics([new], deadline: .hopeless)
        await admin.close()
    }

    func close() async {
        await producer.close(deadline: .seconds(2))
        await client.close()
        cluster.mock?.stop()
    }

    var replays: Replays { Replays(names: names, verifier: .unavailable("none in this test"), database: client) }

    func context(_ stage: String = "verify") -> DeadLetterContext {
        DeadLetterContext(
            cluster: "cluster-1", topic: letterTopic, stage: stage, readsObservations: stage != "verify",
            worker: "\(stage)-1", verifierVersion: "1.0.0", configuration: SHA256.digest(Array("settings".utf8)))
    }

    /// Writes bodies to `raw` and refuses them: their dead letters are on the topic and in the
    /// index.
    ///
    /// - Returns: the IDs of the letters.
    @discardableResult func refuse(
        _ bodies: [ProducerRecord], value: DeadLetterValue = .original,
        altered: (inout ProducerRecord) -> Void = { _ in }
    ) async throws -> [String] {
        let written = await producer.send(bodies)
        #expect(written.isComplete)
        let raw = try await records(of: rawTopic)
        let added = zip(bodies, written.offsets).compactMap { body, offset in
            raw.first { $0.topicPartition.partition == body.partition && $0.offset == offset }
        }
        #expect(added.count == bodies.count)
        let refusal = Refusal(reason: .bundleMismatch, detail: "the app is not configured")
        let letters = added.map { record in
            var letter = letter(for: record, refusal, value: value)
            altered(&letter)
            return letter
        }
        return try await add(letters)
    }

    /// The next letter of the chain of a source partition.
    func letter(
        for record: ConsumerRecord, _ refusal: Refusal, value: DeadLetterValue = .original, stage: String = "verify"
    ) -> ProducerRecord {
        let source = record.topicPartition
        let name = ChainName(stage: stage, topic: source.topic, partition: source.partition)
        var letter = heads.withLock { heads in
            let former = heads[name]
            let letter = DeadLetterWriter(context(stage)).letter(
                for: record, refusal, value: value, after: former?.digest)
            heads[name] = ChainHead(
                digest: letter.digest, counted: (former?.counted ?? 0) + 1, offset: record.offset + 1,
                records: record.offset + 1)
            return letter.record
        }
        letter.partition = source.partition
        return letter
    }

    /// The letter of a body that retention has removed from `raw`.
    func letter(ofGone number: Int64, value: DeadLetterValue = .original) -> ProducerRecord {
        letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: rawTopic, partition: 0), offset: 100 + number,
                value: Array("removed by retention \(number)".utf8)),
            Refusal(reason: .bundleMismatch, detail: "the app is not configured"), value: value)
    }

    /// Writes dead letters to the topic and into the index, and commits the ends of the chains.
    @discardableResult func add(_ letters: [ProducerRecord]) async throws -> [String] {
        let report = await producer.send(letters)
        #expect(report.isComplete)
        for (name, head) in heads.withLock(\.self) where name.topic.hasPrefix(names.topicPrefix) {
            let partition = TopicPartition(topic: name.topic, partition: name.partition)
            let commit = OffsetCommit(offset: head.offset, metadata: metadata(of: name))
            let group = ["group.id": names.groupPrefix + name.stage]
            let consumer = try KafkaConsumer(configuration: cluster.client.merging(group) { $1 })
            try await consumer.assign(with: [partition: 0])
            // A broker that has just started refuses commits until it has loaded its groups.
            await eventually { await consumer.commit([partition: commit], deadline: .seconds(30)).failures.isEmpty }
            await consumer.close(deadline: .seconds(5))
        }
        try await index()
        return letters.map { $0.text(DeadLetterHeader.id) ?? "" }
    }

    /// The metadata of the stage's commit in this partition.
    func metadata(of name: ChainName) -> String {
        guard let head = heads.withLock({ $0[name] }) else { return "" }
        let tally = StageTally(began: 0, counts: [.deadLettered: head.counted])
        return CommitMetadata(tally: tally, chainHead: head.digest).text
    }

    func index() async throws {
        var next: [Int32: Int64] = [:]
        let read = try await records(of: letterTopic).map { record in
            next[record.topicPartition.partition] = record.offset + 1
            return (record.topicPartition.partition, record.offset, DeadLetterRow(record))
        }
        _ = try await DeadLetterIndexTable.add(read, of: letterTopic, nextOffsets: next, on: client)
    }

    func bodies(_ count: Int, _ name: String = "body") -> [ProducerRecord] {
        (0..<count).map { number in
            ProducerRecord(
                topic: rawTopic, partition: Int32(number % 2), key: Array("key \(number)".utf8),
                value: Array("\(name) \(number)".utf8),
                headers: [KafkaHeader(name: "correlation-id", text: "\(name)-\(number)")])
        }
    }

    /// Every record of a topic, in the order of each partition.
    func records(of topic: String) async throws -> [ConsumerRecord] {
        let partitions = (0..<2).map { TopicPartition(topic: topic, partition: $0) }
        let marks = try await KafkaAdmin.with(cluster.client) { admin in
            try await admin.listOffsets(partitions, deadline: .hopeless)
        }
        var found: [ConsumerRecord] = []
        try await TopicScan.with(cluster.client) { scan in
            try await scan.read(marks.mapValues { $0.low..<$0.high }) { found += $0 }
        }
        return found.sorted { ($0.topicPartition, $0.offset) < ($1.topicPartition, $1.offset) }
    }

    /// Prepares a replay of all letters, or of these, and records it.
    func begin(_ ids: [String] = [], again: Bool = false, _ limits: ReplayLimits = ReplayRig.limits) async throws
        -> Int64
    {
        let plan = try await replays.prepare(selection(ids, again: again))
        return try await replays.begin(plan, who: auditor, why: "settings", limits: limits).number
    }

    func selection(_ ids: [String] = [], again: Bool = false) -> ReplaySelection {
        var query = DeadLetterQuery()
        query.ids = Set(ids)
        var selection = ReplaySelection(query, text: "all")
        selection.again = again
        return selection
    }

    static let limits: ReplayLimits = {
        var limits = ReplayLimits()
        limits.rate = 1_000
        limits.waitMax = .seconds(60)
        return limits
    }()

    func outcomes(_ number: Int64) async throws -> [ReplayRecordRow] {
        try await replays.records(of: number, limit: 100_000)
    }
}
