import AppStore
import Foundation
import JSON
import Kafka
import OpenSSL
import Postgres
import Records
import Settings
import Simulation
import Store
import Synchronization
import Telemetry
import TestSupport
import Testing
import Topology
import Worker

@testable import RecoveryStage

/// `recovery-worker` on a simulated server of Apple's and a database of its own; what it publishes
/// is kept, and the test settles it instead of the pipeline.
final class RecoveryRig: Sendable {
    struct Unacknowledged: Error {}

    static let app = RecoveredApp(environment: .production, bundleID: Identifier(DemoApp.pro.bundleID))
    static let day: Int64 = 86_400_000

    let world: AppleWorld
    let apple: AppleServer
    let client: PostgresClient
    /// The database's URL, for `pipeline`.
    let url: String
    let log = RecordingLogHandler()
    /// The metrics of the worker that was made last.
    private let registry = Mutex(MetricsRegistry())
    let apps: [DemoApp]
    private let setsAccountTokens: Bool
    let keyPath: String
    let authorityFile: String
    private let published = Mutex<[ProducerRecord]>([])
    private let offset = Atomic<Int64>(0)
    /// Whether records stay without acknowledgement.
    let isBrokerDown = Atomic(false)

    /// The setting `refund_replies` of each app.
    let replies: String

    /// - Parameter consented: with whose consent refund requests are answered.
    init(
        _ apps: [DemoApp] = [.pro], setsAccountTokens: Bool = false, consented: String = "never",
        preference: String = "none"
    ) async throws {
        self.apps = apps
        self.setsAccountTokens = setsAccountTokens
        replies = #"{"consented":"\#(consented)","preference":"\#(preference)"}"#
        world = try AppleWorld(authority: CertificateAuthority())
        apple = try AppleServer(world)
        let options = try await StageDatabase.options()
        client = PostgresClient(options, connectionsMax: 8)
        url = options.connectionString
        keyPath = NSTemporaryDirectory() + "api-key-\(UUID().uuidString)"
        authorityFile = NSTemporaryDirectory() + "apple-\(UUID().uuidString)"
        try apple.rootPEM.write(toFile: authorityFile, atomically: true, encoding: .utf8)
        try replaceKey()
        try await begin()
    }

    /// Begins the jobs with short windows: a whole one has a request for each of 179 days.
    func begin() async throws {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        _ = try await client.query(
            """
            INSERT INTO recovery_windows (environment, bundle_id, job, started_at, window_from_ms,
                window_until_ms, read_until_ms)
            SELECT 'Production', app, job, now(), $2, $3, $2
            FROM unnest($1::text[]) AS app CROSS JOIN unnest(ARRAY['missed', 'complete']) AS job
            ON CONFLICT (bundle_id, environment, job) DO UPDATE
            SET due_at = now(), started_at = excluded.started_at,
                window_from_ms = excluded.window_from_ms,
                window_until_ms = excluded.window_until_ms,
                read_until_ms = excluded.read_until_ms
            """, [.textArray(apps.map(\.bundleID)), .int8(now - 12 * Self.day), .int8(now)])
    }

    deinit {
        apple.stop()
        for file in [keyPath, authorityFile] { try? FileManager.default.removeItem(atPath: file) }
    }

    /// Replaces the key in App Store Connect and in the file.
    ///
    /// - Parameter isRegistered: whether Apple knows the new one.
    func replaceKey(isRegistered: Bool = true) throws {
        let key = try PrivateKey.generate(.p256)
        try key.pem.write(toFile: keyPath, atomically: true, encoding: .utf8)
        guard isRegistered else { return }
        apple.register(try AppleAPIKey(id: "KEY1", issuerID: "issuer", bundleIDs: Set(apps.map(\.bundleID)), key: key))
    }

    func settings(_ other: [String: String] = [:]) throws -> SettingsValues {
        let apps = apps.map { app in
            """
            {"bundle_id":"\(app.bundleID)","environment":"Production","app_apple_id":1,\
            "api_issuer_id":"issuer","api_key_id":"KEY1","api_key_file":"\(keyPath)",\
            "set_account_token":\(setsAccountTokens),"refund_replies":\(replies)}
            """
        }
        return try WorkerProgram.recovery.schema.read(
            environment: [
                "KAFKA_BOOTSTRAP": "127.0.0.1:1", "DATABASE_URL": "postgresql://nowhere/none",
                "APPS": "[\(apps.joined(separator: ","))]", "RECOVERY_BASE_URL": apple.baseURL,
                "RECOVERY_CA_FILE": authorityFile, "RECOVERY_RATE_SHARE": "100",
            ].merging(other) { $1 })
    }

    /// A new process of the worker.
    ///
    /// - Parameter pages: the bounds of what is read at a time.
    func worker(_ other: [String: String] = [:], pages: PageTrail.Bounds = PageTrail.Bounds()) throws -> RecoveryStage {
        let settings = try settings(other)
        let registry = MetricsRegistry()
        self.registry.withLock { $0 = registry }
        let metrics = RecoveryMetrics(registry)
        var plan = RecoveryPlan(settings, rawTopic: "raw")
        plan.pages = pages
        let apps = try RecoveredApps.accesses(settings).map { access in
            AppRecovery(access: access, client: client, plan: plan, metrics: metrics, log: Log(log))
        }
        return RecoveryStage(
            RecoveryOutbox(apps, finishes: settings[RecoverySettings.finishes], client: client, metrics: metrics),
            client: client)
    }

    /// The metrics of the worker that was made last.
    var metrics: String { String(decoding: registry.withLock { $0 }.exposition(), as: UTF8.self) }

    /// Lets the worker do all that is due.
    func turn(_ worker: RecoveryStage) async throws {
        let outbox = try #require(worker.outboxes[0] as? RecoveryOutbox)
        do {
            do { try await look(worker) } catch is PartialFault {}
            await outbox.settled()
            try await outbox.check()
        } catch let fault as PartialFault { throw fault.error }
    }

    /// Lets the worker begin all that is due.
    func look(_ worker: RecoveryStage) async throws {
        try await worker.outboxes[0].empty { [self] records in
            guard !isBrokerDown.load(ordering: .acquiring) else { throw Unacknowledged() }
            published.withLock { $0 += records }
        }
    }

    /// Makes every job due.
    ///
    /// - Parameter tokensToo: whether tokens, which wait for a day, are due too.
    func wake(tokensToo: Bool = true) async throws {
        try await begin()
        _ = try await client.query(
            "UPDATE recovery_requests SET due_at = now() WHERE kind <> 'account_token' OR \(tokensToo)")
    }

    /// Leaves one job with one slice to read, whose pages come one after the other.
    func beginSlice() async throws {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        _ = try await client.query(
            """
            UPDATE recovery_windows
            SET due_at = CASE job WHEN 'missed' THEN 'infinity' ELSE now() END,
                window_from_ms = $1, window_until_ms = $2, read_until_ms = $1
            """, [.int8(now - Self.day + 60_000), .int8(now)])
    }

    /// The records that were published since the last call.
    func take() -> [ProducerRecord] {
        published.withLock { published in
            defer { published = [] }
            return published
        }
    }

    /// Holds a notification, as `entitle-worker` does.
    func hold(_ uuid: String) async throws {
        _ = try await client.query(
            """
            INSERT INTO notifications (environment, uuid, type, meaning, source_topic,
                source_partition, source_offset)
            VALUES ('Production', $1, 'SUBSCRIBED', 'subscribed', 'raw', 0, 0)
            ON CONFLICT DO NOTHING
            """, [.text(uuid)])
    }

    /// The outcome of a published record, as the pipeline answers it.
    func answer(_ record: ProducerRecord, _ status: Outcome.Status, _ members: String = "") -> ConsumerRecord {
        let id = record.headers.first { $0.nameBytes == RecordHeader.correlationID }?.value
        let value = #"{"schemaVersion":1,"status":"\#(status.rawValue)"\#(members)}"#
        return ConsumerRecord(
            "outcomes", at: offset.add(1, ordering: .relaxed).oldValue, key: id, value: Array(value.utf8))
    }

    /// The UUIDs of what was published.
    static func uuids(_ records: [ProducerRecord]) -> [String] {
        records.compactMap { record in
            record.headers.first { $0.nameBytes == RecordHeader.correlationID }?.value.flatMap {
                NotificationID(correlationID: $0)?.uuid.text
            }
        }
    }

    func count(_ sql: String) async throws -> Int64 { try await client.query("SELECT count(*) FROM \(sql)")[0].int8(0) }

    /// Makes the database fail every second statement of a kind, as if the worker died before it.
    ///
    /// - Parameter occasion: of a trigger.
    func failEverySecond(_ occasion: String) async throws {
        _ = try await client.query("CREATE SEQUENCE occasions")
        _ = try await client.query(
            """
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN IF nextval(''occasions'') % 2 = 1 THEN RAISE EXCEPTION ''killed''; END IF; \
            RETURN NEW; END'
            """)
        _ = try await client.query("CREATE TRIGGER fail \(occasion) FOR EACH STATEMENT EXECUTE FUNCTION fail()")
    }

    /// Generates notifications of the last days.
    ///
    /// None lies at the boundary of two slices: Apple would list it in both.
    func generate(_ count: Int, days: Int64 = 10, of app: DemoApp = .pro, failingPercent: Int = 0, seed: UInt64 = 1) {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        world.generateNotifications(
            count: count, dates: now - days * Self.day + 60_000...now - 3_600_000, of: app,
            failingPercent: failingPercent, seed: seed)
    }
}
