import AppStore
import Foundation
import Kafka
import KitWrappers
import OpenSSL
import Postgres
import Records
import Store
import TestSupport

@testable import AuditConsole
@testable import DeadLetters
@testable import Worker

/// A console on a database, a topic with dead letters, and a file of users.
final class ConsoleFixture: Sendable {
    let service: ConsoleService
    let database: PostgresClient
    let topic: DeadLetterTopic
    let cluster: KafkaCluster
    let folder: URL
    let ids: [String]
    let replays: Replays

    var port: UInt16 { service.port }

    /// The password of all users: `vera` views, `ines` investigates, `otto` operates.
    static let password = "correct horse battery"
    static let users = ["vera": "viewer", "ines": "investigator", "otto": "operator"]

    /// - Parameters:
    ///   - letters: the letters in the topic and the index.
    ///   - environment: settings beside those of the fixture.
    ///   - hasPasswords: whether there is a file of users.
    ///   - role: the console's role in the database; the owner's unless given.
    init(
        letters: [SampleLetter] = [.plain(0)], environment: [String: String] = [:], hasPasswords: Bool = true,
        chains: ChainReport = ChainReport(), kafkaDeadline: Duration = .seconds(60), role: DatabaseRole? = nil
    ) async throws {
        cluster = try await KafkaCluster(.mock)
        let name = "storekit.dead-letter"
        for topic in [name, "storekit.raw"] { try cluster.mock?.createTopic(topic, partitions: 4) }
        topic = DeadLetterTopic(name: name, configuration: cluster.client)
        var options = try await PostgresServer.shared.migratedDatabase()
        options.sessionSettings = DeadLetterTable.sessionSettings
        database = PostgresClient(options, connectionsMax: 4)
        replays = Replays(
            names: ReplayNames(kafka: cluster.client, topicPrefix: "storekit.", groupPrefix: "entitlements."),
            verifier: .unavailable("no apps are configured here"), database: database)
        ids = try await Self.fill(topic, letters, cluster, database)
        folder = FileManager.default.temporaryDirectory.appending(path: "console-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var settings = ["CONSOLE_PORT": "0", "LOG_LEVEL": "critical"]
        if hasPasswords {
            let file = folder.appending(path: "users")
            try Self.passwordFile.write(to: file, atomically: true, encoding: .utf8)
            settings["CONSOLE_PASSWORD_FILE"] = file.path(percentEncoded: false)
        }
        settings.merge(environment) { $1 }
        if let role {
            let prefix = "c\(UUID().uuidString.prefix(8).lowercased())-"
            try await database.withConnection {
                try await DatabaseRole.grant([role], schema: "public", prefix: prefix, on: $0)
            }
            options.sessionSettings["role"] = prefix + role.name
        }
        service = try ConsoleService(
            ConsoleService.read(environment: settings),
            database: role == nil ? database : PostgresClient(options, connectionsMax: 4),
            topic: topic.within(kafkaDeadline), replays: replays, chains: ChainWatch { chains })
    }

    deinit {
        let service = service
        Task { await service.stop() }
        try? FileManager.default.removeItem(at: folder)
    }

    /// The file of users, who share one password hash because hashing is slow.
    static let passwordFile: String = {
        let strength = Scrypt(cost: 1 << 14, blockSize: 8, parallelization: 1)
        let hash = PasswordHash.make(password, strength: strength)?.encoded ?? ""
        return "# users of a test\n" + users.sorted { $0.key < $1.key }.map { "\($0):\($1):\(hash)\n" }.joined()
    }()

    /// Writes the letters into the topic and indexes them; each fails at its sample's time.
    private static func fill(
        _ topic: DeadLetterTopic, _ letters: [SampleLetter], _ cluster: KafkaCluster, _ database: PostgresClient
    ) async throws -> [String] {
        let producer = try KafkaProducer(configuration: cluster.client)
        var head: SHA256Digest?
        let records = letters.map { letter in
            let chained = letter.letter(topic: topic.name, after: head)
            head = chained.digest
            return chained.record
        }
        let report = await producer.send(records)
        try await commit(head, count: letters.count, cluster)
        _ = await producer.close(deadline: .seconds(10))
        guard report.failures.isEmpty else { throw FixtureError(what: "\(report.failures)") }
        var rows: [DeadLetterRow] = []
        _ = try await topic.read { _, record in if let row = DeadLetterRow(record) { rows.append(row) } }
        rows.sort { $0.letterOffset < $1.letterOffset }
        for index in rows.indices { rows[index].failedAt = letters[index].failedAt }
        _ = try await DeadLetterIndexTable.add(
            rows.map { (partition: 0, offset: $0.letterOffset, row: $0) }, of: topic.name,
            nextOffsets: [0: Int64(rows.count)], on: database)
        return rows.map(\.id)
    }

    /// Commits the end of the chain as verify-worker does, at an offset that settles no replay.
    private static func commit(_ head: SHA256Digest?, count: Int, _ cluster: KafkaCluster) async throws {
        let group = ["group.id": "entitlements.verify"]
        let consumer = try KafkaConsumer(configuration: cluster.client.merging(group) { $1 })
        let source = TopicPartition(topic: "storekit.raw", partition: 3)
        try await consumer.assign(with: [source: 0])
        let tally = StageTally(began: 0, counts: [.deadLettered: Int64(count)])
        let metadata = CommitMetadata(tally: tally, chainHead: head).text
        let outcome = await consumer.commit(
            [source: OffsetCommit(offset: 0, metadata: metadata)], deadline: .seconds(10))
        await consumer.close(deadline: .seconds(5))
        guard outcome.failures.isEmpty else { throw FixtureError(what: "\(outcome.failures)") }
    }

    func client(from source: UInt8 = 1) -> ConsoleClient { ConsoleClient(port: port, source: source) }

    /// A client that has signed in.
    func client(as user: String) async throws -> ConsoleClient {
        let client = client()
        try await client.signIn(user, Self.password)
        return client
    }
}

struct FixtureError: Error { let what: String }

/// A dead letter for the fixture.
struct SampleLetter: Sendable {
    var number: Int
    var reason = RefusalReason.signatureInvalid
    var detail = "the ES256 signature does not match header and payload"
    var bundleID: String? = "com.example.app"
    var key: [UInt8]? = Array("user-7".utf8)
    var value: [UInt8]? = Array(#"{"signedPayload": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"}"#.utf8)
    var headers = [KafkaHeader(name: "producer", text: "ingest-1")]
    var worker = "verify-7d9f"
    /// Digests of the certificates, the leaf first.
    var certificates = (1...3).map { SHA256.digest([UInt8($0)]) }
    var identifiers: @Sendable (inout UnverifiedIdentifiers) -> Void = { _ in }
    var failedAt = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) - 60_000)

    static func plain(_ number: Int) -> SampleLetter { SampleLetter(number: number) }

    func letter(topic: String, after previous: SHA256Digest?) -> ChainedLetter {
        let context = DeadLetterContext(
            cluster: "cluster-1", topic: topic, stage: "verify", readsObservations: false, worker: worker,
            verifierVersion: "1.0.0", configuration: SHA256.digest(Array("settings".utf8)))
        let original = ConsumerRecord(
            topicPartition: TopicPartition(topic: "storekit.raw", partition: 3), offset: Int64(number),
            timestampMilliseconds: 1_767_225_600_123, key: key, value: value, headers: headers)
        var unverified = UnverifiedIdentifiers()
        unverified.transactionID = "200000\(number)"
        unverified.originalTransactionID = "100000\(number)"
        unverified.bundleID = bundleID
        unverified.environment = "Production"
        unverified.productID = "gold.monthly"
        identifiers(&unverified)
        let certificates = certificates.map { fingerprint in
            CertificateFacts(fingerprint: fingerprint, validity: 1_600_000_000...1_900_000_000)
        }
        let refusal = Refusal(reason: reason, detail: detail, chain: certificates, unverified: unverified)
        var letter = DeadLetterWriter(context).letter(for: original, refusal, value: .original, after: previous)
        // One partition, so that the letters lie in their order.
        letter.record.partition = 0
        return letter
    }
}
