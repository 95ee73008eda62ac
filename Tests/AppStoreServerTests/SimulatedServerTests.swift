import AppStore
import Foundation
import OpenSSL
import Simulation
import Synchronization
import TestSupport
import Testing

@testable import AppStoreServer

/// The client against the simulated server, with all of its faults.
@Suite(.timeLimit(.minutes(10))) struct SimulatedServerTests {
    /// 2026-06-01.
    private static let now: Int64 = 1_780_272_000_000
    private static let window = Timestamp(milliseconds: now - 86_400_000)..<Timestamp(milliseconds: now)

    private let world: AppleWorld
    private let server: AppleServer
    private let api: AppStoreServerAPI
    private let clock = SimulatedClock(start: Self.now, speed: 0)
    private let authorityFile = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")

    init() throws {
        world = try AppleWorld(authority: CertificateAuthority())
        let clock = clock
        server = try AppleServer(world, clock: clock)
        let key = try PrivateKey.generate(.p256)
        let bundleID = "com.example.pro"
        server.register(try AppleAPIKey(id: "KEY1", issuerID: "issuer", bundleIDs: [bundleID], key: key))
        try Data(server.rootPEM.utf8).write(to: authorityFile)
        let credentials = try APICredentials(
            bundleID: Identifier(bundleID), environment: .production, issuerID: "issuer", keyID: "KEY1",
            keyFile: Array(key.pem.utf8))
        api = try AppStoreServerAPI(
            credentials, server: LoopbackServer(url: server.baseURL, authorityFile: authorityFile.path),
            clock: APIClock(
                now: { Timestamp(milliseconds: clock.now) }, uptime: { .milliseconds(clock.now) },
                sleep: { clock.advance(by: $0 + .milliseconds(1)) }))
    }

    private func end() {
        server.stop()
        try? FileManager.default.removeItem(at: authorityFile)
    }

    @Test func `every notification is fetched through each fault that goes by`() async throws {
        defer { end() }
        world.generateNotifications(count: 205, dates: Self.now - 86_399_000...Self.now)
        server.inject { request in
            switch request.number {
            case 1, 4: .rateLimit(.milliseconds(1_234))
            case 2: .error(status: 500, code: 5_000_001)
            case 6: .cutBody
            case 7: .wrongContentLength
            case 8: .emptyPage
            case 9: .foreignItem
            case 10: .unknownKind
            case 11: .error(status: 404, code: 4_040_004)
            case 12: .expiredToken
            default: nil
            }
        }
        let fetched = try await fetch()
        #expect(fetched.own.count == 206)
        #expect(fetched.foreign == ["com.example.foreign"])
        #expect(fetched.actions.contains(.restart))
        #expect(server.requests.allSatisfy { !$0.isTooEarly && $0.tokenFault == nil })
    }

    /// The UUIDs of the app's notifications, the apps of foreign ones, and the failures' actions.
    private func fetch() async throws -> (own: Set<Identifier>, foreign: [Identifier], actions: [APIFailure.Action]) {
        var own: Set<Identifier> = []
        var foreign: [Identifier] = []
        var actions: [APIFailure.Action] = []
        var token: String?
        while actions.count < 100 {
            do {
                let page = try await api.notificationHistory(Self.window, onlyFailures: false, page: token)
                for notification in page.notifications {
                    let payload = NotificationPayload(unverified: notification.signedPayload)
                    let bundleID = Identifier(payload?.subject?.bundleID?.string ?? "")
                    let uuid = try #require(notification.uuid)
                    if bundleID == "com.example.pro" { own.insert(uuid) } else { foreign.append(bundleID) }
                }
                token = page.nextPage
                if token == nil { break }
            } catch let failure as APIFailure {
                actions.append(failure.action)
                switch failure.action {
                case .retry(let time):
                    let wait = time.map { $0.milliseconds - clock.now } ?? 0
                    clock.advance(by: .milliseconds(max(0, wait)))
                case .restart: token = nil
                case .notFound, .refused, .stop: throw failure
                }
            }
        }
        return (own, foreign, actions)
    }

    @Test func `a name that the certificate does not have is not asked`() async throws {
        defer { end() }
        try server.listen(as: ["api.storekit.apple.com"])
        await #expect(throws: APIFailure.self) { try await api.finish("1") }
        #expect(server.requests.isEmpty)
    }

    @Test func `histories, refunds, orders and statuses are read, and a purchase is finished`() async throws {
        defer { end() }
        world.generateNotifications(count: 5, dates: Self.now - 86_399_000...Self.now)
        let page = try await api.notificationHistory(Self.window, onlyFailures: false)
        #expect(page.notifications.count == 5)
        let unknown = await #expect(throws: APIFailure.self) { try await api.finish("77") }
        #expect(unknown?.action == .notFound)
        #expect(try await !api.lookUp(orderID: "M77").isEmpty)
    }

    /// The rules of "ConsumptionRequestV1", which is for Advanced Commerce alone.
    @Test(arguments: [
        (true, ""), (true, #","refundPreference":3"#), (false, #","refundPreference":4"#), (false, #","rate":1"#),
    ]) func `answers of the first version are checked as Apple does`(isAccepted: Bool, member: String) async throws {
        defer { end() }
        for id in ["1", "2"] {
            var fields = TransactionFields()
            (fields.transactionID, fields.originalTransactionID) = (id, id)
            fields.bundleID = DemoApp.pro.bundleID
            fields.advancedCommerceInfo = id == "1" ? Array(#"{"items":[{"SKU":"film"}]}"#.utf8) : nil
            world.add(try world.authority.sign(fields.json))
        }
        let plain = #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false}"#
        let first =
            #"{"accountTenure":0,"appAccountToken":"","consumptionStatus":3,"customerConsented":true,"#
            + #""deliveryStatus":0,"lifetimeDollarsPurchased":0,"lifetimeDollarsRefunded":0,"platform":0,"#
            + #""playTime":0,"sampleContentProvided":false,"userStatus":0\#(member)}"#
        // Each version refuses the purchases of the other.
        for (id, body) in [("1", plain), ("2", first)] {
            let refused = await #expect(throws: APIFailure.self) {
                try await api.answerRefundRequest(id, Array(body.utf8))
            }
            #expect(refused?.action == .refused)
        }
        do {
            try await api.answerRefundRequest("1", Array(first.utf8))
            #expect(isAccepted)
        } catch { #expect(!isAccepted && error.action == .refused) }
        #expect(world.refundAnswers.count == (isAccepted ? 1 : 0))
    }

    @Test func `Apple decides once about an answer in time, and takes none later`() async throws {
        defer { end() }
        let sent = Mutex<[String]>([])
        world.sendDecisions { jws in
            let payload = NotificationPayload(unverified: jws)
            sent.withLock { $0.append(payload?.type?.string ?? "") }
        }
        for id in ["1", "2", "3", "4"] {
            try world.sell(id, type: "Consumable")
            _ = try world.askRefund(of: id, at: clock.now - (id == "4" ? 12 : 11) * 3_600_000, reason: "LEGAL")
        }
        func answer(_ id: String, _ members: String) async throws {
            let body =
                #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false,\#(members)}"#
            try await api.answerRefundRequest(id, Array(body.utf8))
        }
        try await answer("1", #""consumptionPercentage":100000,"refundPreference":"DECLINE""#)
        for _ in 1...2 { try await answer("2", #""consumptionPercentage":40000,"refundPreference":"GRANT_PRORATED""#) }
        try await answer("3", #""consumptionPercentage":40000"#)
        await #expect(throws: APIFailure.self) { try await answer("4", #""consumptionPercentage":0"#) }
        #expect(sent.withLock { $0 } == ["REFUND_DECLINED", "REFUND"])
        #expect(world.refundDecisions == ["1": .declined, "2": .refunded(60_000)])
    }

    /// The rules of "consumptionPercentage", "deliveryStatus" and "refundPreference".
    @Test(arguments: [
        ("Consumable", true, #""consumptionPercentage":100000,"deliveryStatus":"DELIVERED""#),
        ("Consumable", true, #""deliveryStatus":"UNDELIVERED_OTHER","consumptionPercentage":0"#),
        ("Consumable", false, #""deliveryStatus":"UNDELIVERED_OTHER","consumptionPercentage":1"#),
        ("Consumable", false, #""deliveryStatus":"LOST""#),
        ("Consumable", false, #""deliveryStatus":"DELIVERED","consumptionPercentage":100001"#),
        ("Consumable", false, #""deliveryStatus":"DELIVERED","refundPreference":"GRANT_PRORATED""#),
        (
            "Consumable", false,
            #""deliveryStatus":"DELIVERED","consumptionPercentage":0,"refundPreference":"GRANT_PRORATED""#
        ),
        (
            "Consumable", true,
            #""deliveryStatus":"DELIVERED","consumptionPercentage":1,"refundPreference":"GRANT_PRORATED""#
        ), ("Consumable", false, #""deliveryStatus":"DELIVERED","playTime":1"#),
        ("Auto-Renewable Subscription", true, #""deliveryStatus":"DELIVERED","refundPreference":"GRANT_PRORATED""#),
        ("Auto-Renewable Subscription", false, #""deliveryStatus":"DELIVERED","consumptionPercentage":1"#),
    ]) func `answers to refund requests are checked as Apple does`(type: String, isAccepted: Bool, members: String)
        async throws
    {
        defer { end() }
        var fields = TransactionFields()
        (fields.transactionID, fields.originalTransactionID) = ("1", "1")
        (fields.bundleID, fields.type) = (DemoApp.pro.bundleID, type)
        world.add(try world.authority.sign(fields.json))
        func answer(_ consented: Bool) async throws {
            let body = #"{"customerConsented":\#(consented),"sampleContentProvided":false,\#(members)}"#
            try await api.answerRefundRequest("1", Array(body.utf8))
        }
        let refused = await #expect(throws: APIFailure.self) { try await answer(false) }
        #expect(refused?.action == .refused)
        if isAccepted {
            try await answer(true)
        } else {
            let failure = await #expect(throws: APIFailure.self) { try await answer(true) }
            #expect(failure?.action == .refused)
        }
        #expect(world.refundAnswers.count == (isAccepted ? 1 : 0))
    }
}
