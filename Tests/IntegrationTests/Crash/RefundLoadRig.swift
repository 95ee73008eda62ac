import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import Synchronization
import TestSupport
import Testing
import Topology
import Worker

/// A whole pipeline with other work, whose customers ask Apple for refunds.
///
/// User `user-n` has purchase n. The remainder of n by 5 decides about consent: 1 to 3 yes, 4 no, 0 nothing. Each seventh
/// purchase is of Advanced Commerce, each third user had 50 coins of support before, and n modulo 120 are spent.
struct RefundLoadRig {
    let count: Int
    let pipeline: RunningPipeline
    let apple: SimulatedApple
    let crash: RecoveryCrashRig
    let feed: BodyFeed

    var world: AppleWorld { apple.server.world }
    private var connection: PostgresConnection { crash.connection }

    /// Consented requests whose deadline passes while Apple does not answer.
    var lost: [Int] { Array(count + 1...count + 5) }
    /// Requests of users without a word; their last hour begins during the outage.
    var silent: [Int] { Array(count + 6...count + 10) }

    let reasons = ["UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER", "TIDE"]

    static func isConsented(_ number: Int) -> Bool { 1...3 ~= number % 5 }

    func id(_ number: Int) -> String { "7000\(100_000 + number)" }
    func number(_ id: String) -> Int { (Int(id.dropFirst(4)) ?? 0) - 100_000 }

    private static let rules = """
        [{"prefer":"decline","consumedPercent":50},{"prefer":"grant_prorated","consumedPercent":1},{"prefer":"none"}]
        """

    static func run(_ count: Int, _ body: (RefundLoadRig) async throws -> Void) async throws {
        let demo = try DemoTraffic(seed: 6, bodyCount: DemoTraffic.bodyCountMin)
        let credits = #""credits": { "coins": 100 }"#
        let traffic = DemoTraffic(
            authority: demo.authority, receiptAuthority: demo.receiptAuthority,
            catalog: demo.catalog.replacing(credits, with: credits + #","refundPreference":"# + rules),
            items: demo.items, links: demo.links)
        let apple = try SimulatedApple(AppleWorld(authority: traffic.authority), apps: [.pro])
        defer { apple.stop() }
        try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
            try await pipeline.withDatabase { connection in
                var crash = RecoveryCrashRig(pipeline: pipeline, apple: apple, connection: connection, gate: nil)
                crash.consented = "user"
                try await crash.beginReplying()
                let feed = BodyFeed(pipeline: pipeline)
                apple.server.world.sendDecisions { feed.add(Body.notification($0)) }
                let rig = RefundLoadRig(count: count, pipeline: pipeline, apple: apple, crash: crash, feed: feed)
                try pipeline.startAll()
                try await withThrowingTaskGroup { group in
                    group.addTask { try await feed.run() }
                    try await body(rig)
                    feed.end()
                    try await group.waitForAll()
                }
                let problems = try await pipeline.settle(within: .seconds(1_200)).problems
                #expect(problems.isEmpty, "\(problems)")
            }
        }
    }

    /// Sells all purchases through the pipeline, and lets users spend and say what they do.
    func sell() async throws {
        let all = count + 10
        let token = "'00000000-0000-4000-8000-' || lpad(n::text, 12, '0')"
        try await pipeline.execute(
            """
            INSERT INTO account_links (kind, key, user_id)
            SELECT 'account_token', \(token), 'user-' || n FROM generate_series(1, \(all)) AS n
            """)
        let day: Int64 = 86_400_000
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        for number in 1...all {
            var fields = TransactionFields()
            (fields.transactionID, fields.originalTransactionID) = (id(number), id(number))
            (fields.bundleID, fields.productID) = (DemoApp.pro.bundleID, DemoProduct.coins100.rawValue)
            (fields.type, fields.price) = ("Consumable", 990)
            let digits = String(number)
            fields.appAccountToken =
                "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
            fields.purchaseDate = now - 2 * day
            fields.originalPurchaseDate = now - 2 * day
            fields.signedDate = now - 2 * day + 1_000
            if number % 7 == 0 { fields.advancedCommerceInfo = Array(#"{"items":[{"SKU":"a.song"}]}"#.utf8) }
            let jws = try world.authority.sign(fields.json)
            world.add(jws)
            feed.add(Body.transaction(jws))
        }
        try await eventually(within: .seconds(1_800), every: .milliseconds(500)) {
            try pipeline.requireRunning()
            return try await count("ledger WHERE transaction_id LIKE '7000%'") == all
        }
        try await pipeline.execute(
            """
            INSERT INTO ledger_debits (environment, user_id, reference, currency, amount, debited_at)
            SELECT 'Production', 'user-' || n, 'sword', 'coins', n % 120, now() - interval '1 day'
            FROM generate_series(1, \(all)) AS n WHERE n % 120 > 0
            UNION ALL
            SELECT 'Production', 'user-' || n, 'gift', 'coins', -50, now() - interval '3 days'
            FROM generate_series(1, \(all)) AS n WHERE n % 3 = 0;
            INSERT INTO refund_consents (user_id, is_consented, reference)
            SELECT 'user-' || n, n % 5 <> 4 OR n > \(count), 'terms' FROM generate_series(1, \(count + 5)) AS n
            WHERE n % 5 > 0 OR n > \(count);
            """)
    }

    func ask(_ numbers: [Int], hoursAgo: Double = 0) throws {
        let time = Int64((Date().timeIntervalSince1970 - hoursAgo * 3_600) * 1_000)
        for number in numbers {
            let jws = try world.askRefund(of: id(number), at: time, reason: reasons[number % reasons.count])
            feed.add(Body.notification(jws))
        }
    }

    func isAllAsked() async throws -> Bool { try await count("refund_requests") == count + 10 }

    /// Kills a recovery-worker once so many requests are answered.
    ///
    /// - Parameter number: of the kill; each tenth one also hits entitle-worker.
    func kill(_ number: Int, answered goal: Int) async throws {
        try await kill(number) { try await count("refund_requests WHERE outcome = 'answered'") >= goal }
    }

    func kill(_ number: Int, once isReached: () async throws -> Bool) async throws {
        try await crash.kill(once: isReached)
        guard number.isMultiple(of: 10), let entitling = pipeline.copies.first(where: { $0.stage == .entitle }) else {
            return
        }
        try await pipeline.kill(entitling)
        try pipeline.start(.entitle)
    }

    func work(until isOver: () async throws -> Bool) async throws { try await crash.kill(once: isOver) }

    /// Whether nothing but what waits for a word is left, and each of Apple's decisions has arrived.
    func isSettled() async throws -> Bool {
        let decisions = world.refundDecisions.count
        let unanswered = try await count("refund_requests WHERE outcome IN ('late', 'no_consent')")
        let came = try await count("notifications WHERE type LIKE 'REFUND%' AND transaction_id LIKE '7000%'")
        return unanswered == (1...count).filter { $0 % 5 == 4 }.count + 10 && came == decisions
    }

    /// Lets time pass for the requests: what waits is moved back, and so is Apple's clock for them.
    func passTime(hours: Int64) async throws {
        let passed = hours * 3_600_000
        world.passTime(passed)
        try await pipeline.execute(
            """
            UPDATE refund_requests SET signed_date_ms = signed_date_ms - \(passed), deadline_ms = deadline_ms - \(passed)
            WHERE outcome IS NULL;
            UPDATE recovery_requests
            SET due_at = due_at - interval '\(hours) hours', requested_at = requested_at - interval '\(hours) hours'
            WHERE finished_at IS NULL;
            UPDATE recovery_limits SET until_ms = until_ms - \(passed);
            UPDATE notifications AS came SET recorded_at = recorded_at - interval '\(hours) hours'
            FROM refund_requests AS asked
            WHERE asked.uuid = came.uuid AND asked.environment = came.environment AND asked.outcome IS NULL;
            CREATE TABLE outages AS SELECT now() AS ended_at;
            """)
    }

    /// A condition for requests that were answered more than an hour after they came and after the outage.
    static let isLate = """
        ended_at - interval '1 hour' > (
            SELECT came.recorded_at FROM notifications AS came
            WHERE came.uuid = refund_requests.uuid AND came.environment = refund_requests.environment)
        AND ended_at - interval '1 hour' > (SELECT ended_at FROM outages)
        """

    func printTimes() async throws {
        let times = try await texts(
            """
            concat_ws(' ', 'answered', count(*), 'in s: median',
                percentile_disc(0.5) WITHIN GROUP (ORDER BY waited), 'p99',
                percentile_disc(0.99) WITHIN GROUP (ORDER BY waited), 'max', max(waited))
            FROM (
                SELECT round(extract(epoch FROM asked.ended_at - came.recorded_at)) AS waited
                FROM refund_requests AS asked JOIN notifications AS came USING (uuid, environment)
                WHERE asked.outcome = 'answered' AND came.recorded_at > (SELECT ended_at FROM outages) - interval '1 hour'
            ) AS times
            """)
        print(times.joined(), "decisions", world.refundDecisions.count, "ordinary bodies", feed.ordinaryCount)
    }

    func count(_ rows: String) async throws -> Int {
        Int(try await connection.query("SELECT count(*) FROM \(rows)")[0].int8(0))
    }

    func texts(_ query: String) async throws -> [String] {
        try await connection.query("SELECT \(query)").map { $0.text(0) }
    }

    /// The answers that the second computation gives to the requests.
    func reference(of numbers: [Int]) throws -> [Int: String] {
        let cases = numbers.map { number -> String in
            let gift = #"{"id":"0","currency":"coins","amount":50,"date":1,"takenBack":0},"#
            let debit = #"{"currency":"coins","amount":\#(number % 120),"date":3}"#
            return #"{"type":"Consumable","isDelivered":true,"isAdvancedCommerce":\#(number % 7 == 0),"#
                + #""credits":[\#(number % 3 == 0 ? gift : "")"#
                + #"{"id":"1","currency":"coins","amount":100,"date":2,"takenBack":0}],"#
                + #""debits":[\#(number % 120 > 0 ? debit : "")],"refundsInYear":0,"wasTried":false,"#
                + #""rules":\#(Self.rules),"otherwise":"decline","wanted":null}"#
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "refunds-\(UUID().uuidString)")
        try cases.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try ReferenceScript("entitlements/reference.py").run(["answers", file.path])
        try #require(run.isSuccess, "\(run.text)")
        return Dictionary(uniqueKeysWithValues: zip(numbers, run.text.split(separator: "\n").map(String.init)))
    }
}

/// Publishes notifications and transactions as an ingestion service does, beside ordinary bodies.
final class BodyFeed: Sendable {
    private let pipeline: RunningPipeline
    private let waiting = Mutex<[[UInt8]]>([])
    private let isOver = Atomic(false)
    private let ordinary = Atomic(0)

    private static let sliceCount = 100
    private static let lagMax: Int64 = 200

    init(pipeline: RunningPipeline) { self.pipeline = pipeline }

    var ordinaryCount: Int { ordinary.load(ordering: .relaxed) }

    func add(_ body: [UInt8]) { waiting.withLock { $0.append(body) } }

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Publishes until the end, and then what is left.
    func run() async throws {
        let items = pipeline.traffic.items
        var next = 0
        while true {
            try Task.checkCancellation()
            let isLast = isOver.load(ordering: .relaxed)
            let slice = waiting.withLock { waiting in
                defer { waiting.removeFirst(min(Self.sliceCount, waiting.count)) }
                return Array(waiting.prefix(Self.sliceCount))
            }
            if isLast, slice.isEmpty { return }
            let others = items[next..<min(next + 25, items.count)]
            next = next + 25 < items.count ? next + 25 : 0
            try await pipeline.publish(slice.map { DemoItem(kind: .purchase, key: nil, value: $0) })
            try await pipeline.publish(others)
            ordinary.add(others.count, ordering: .relaxed)
            try await eventually(within: .seconds(300), every: .milliseconds(50), "verify gets on") {
                try await pipeline.reconciliation()[.verify]?.lag ?? 0 < Self.lagMax
            }
            guard slice.isEmpty else { continue }
            _ = await becomesTrue(within: .milliseconds(500), every: .milliseconds(100)) {
                isOver.load(ordering: .relaxed) || waiting.withLock { !$0.isEmpty }
            }
        }
    }
}
