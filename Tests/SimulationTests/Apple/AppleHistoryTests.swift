import AppStore
import JSON
import Simulation
import TestSupport
import Testing

/// The notification history of the simulated server.
@Suite(.hopeless) struct AppleHistoryTests {
    private static let day: Int64 = 86_400_000
    private static let now = AppleClient.now

    @Test func `pages hold 20 notifications, and the last has no token`() async throws {
        let client = try AppleClient()
        client.world.generateNotifications(count: 45, dates: Self.now - Self.day...Self.now)
        let pages = try await client.pages()
        let uuids = try pages.map { try $0.uuids }
        #expect(uuids.map(\.count) == [20, 20, 5])
        #expect(Set(uuids.joined()).count == 45)
        #expect(pages.last?["paginationToken"] == nil)
        let item = try #require(pages[0].items.first)
        #expect(item.sendResults == ["SUCCESS"])
        let first = try #require(try pages[0].payloads().first)
        let attempt = item["sendAttempts"]?.list.first
        #expect(attempt?["attemptDate"]?.int64 == first["signedDate"]?.int64)
    }

    @Test func `a million notifications are made when they are listed, the same each time`() async throws {
        let client = try AppleClient()
        let dates = Self.now - 150 * Self.day...Self.now
        client.world.generateNotifications(count: 1_000_000, dates: dates)
        // One of them is signed every 12.96 seconds.
        let window = (start: Self.now - 75 * Self.day, end: Self.now - 75 * Self.day + 200_000)
        var listed: [[[UInt8]]] = []
        for _ in 0..<2 {
            let answer = try await client.history(from: window.start, to: window.end)
            let page = try JSONDocument(parsing: answer.body).root
            #expect(page["hasMore"]?.bool == false)
            listed.append(try page.payloads().map { Array($0.rawBytes) })
        }
        #expect(listed[0].count == 16)
        let uuids = try listed.map { page in
            try page.map { try JSONDocument(parsing: $0).root["notificationUUID"]?.string }
        }
        #expect(uuids[0] == uuids[1])
    }

    @Test func `failures alone are listed if asked for, after pages without any`() async throws {
        let client = try AppleClient()
        let dates = Self.now - 10 * Self.day...Self.now - 9 * Self.day
        client.world.generateNotifications(count: 12_000, dates: dates)
        client.world.generateNotifications(count: 7, dates: dates, failingPercent: 100, seed: 9)
        let pages = try await client.pages(further: ",\"onlyFailures\":true")
        #expect(try pages.map { try $0.uuids.count } == [0, 0, 7])
        let item = try #require(pages.last?.items.first)
        let times = item["sendAttempts"]?.list.compactMap { $0["attemptDate"]?.int64 } ?? []
        let hours = zip(times.dropFirst(), times).map { ($0 - $1) / 3_600_000 }
        #expect(hours == [1, 12, 24, 48, 72])
        #expect(!item.sendResults.contains("SUCCESS"))
    }

    @Test func `a token belongs to its body, and expires`() async throws {
        let client = try AppleClient()
        client.world.generateNotifications(count: 45, dates: Self.now - Self.day...Self.now)
        let first = try JSONDocument(parsing: await client.history().body).root
        let token = try #require(first["paginationToken"]?.string)
        let other = try await client.history(further: ",\"onlyFailures\":true", page: token)
        #expect(other.status == 400 && AppleClient.code(other) == 4_000_014)
        let garbage = try await client.history(page: "AAAA")
        #expect(AppleClient.code(garbage) == 4_000_014)
        #expect(try await client.history(page: token).status == 200)
        client.clock.advance(by: .seconds(3_600))
        let late = try await client.history(page: token)
        #expect(late.status == 400 && AppleClient.code(late) == 4_000_017)
    }

    private static let refused: [([String: Int64], Int64)] = [
        (["startDate": now - 181 * day, "endDate": now], 4_000_012),
        (["startDate": now, "endDate": now - 1], 4_000_013), (["endDate": now], 4_000_015),
        (["startDate": now - day], 4_000_016),
    ]

    @Test(arguments: refused) func `a window that Apple refuses`(dates: [String: Int64], code: Int64) async throws {
        let client = try AppleClient()
        let members = dates.map { "\"\($0)\":\($1)" }.joined(separator: ",")
        let answer = try await client.send("/inApps/v1/notifications/history", body: "{\(members)}")
        #expect(answer.status == 400 && AppleClient.code(answer) == code)
    }

    @Test func `the Sandbox keeps 30 days, and its notifications are its own`() async throws {
        let client = try AppleClient(environment: "Sandbox")
        let dates = Self.now - Self.day...Self.now
        client.world.generateNotifications(count: 3, dates: dates, of: .pro)
        client.world.generateNotifications(count: 2, dates: dates, of: .proSandbox, seed: 2)
        for id in ["SANDBOX_1", "2"] {
            var external = NotificationFields()
            external.notificationType = "EXTERNAL_PURCHASE_TOKEN"
            external.notificationUUID = id
            external.signedDate = Self.now - Self.day
            external.externalPurchaseToken = Array(
                #"{"externalPurchaseId":"\#(id)","bundleId":"com.example.pro"}"#.utf8)
            client.world.add(try client.world.authority.sign(external.json))
        }
        let start = Self.now - 29 * Self.day
        let page = try JSONDocument(parsing: await client.history(from: start).body).root
        #expect(try page.uuids.count == 3 && page.uuids.contains("SANDBOX_1"))
        let early = try await client.history(from: Self.now - 31 * Self.day)
        #expect(AppleClient.code(early) == 4_000_012)
    }

    @Test func `the demo's notifications are all there, once, and genuine`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: Self.now)
        let client = try AppleClient(authority: traffic.authority)
        client.world.add(traffic)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: try traffic.configuredApps()))
        let pages = try await client.pages()
        for item in pages.flatMap(\.items) {
            let jws = try #require(item["signedPayload"]?.stringBytes)
            let isGenuine = if case .success = verifier.verify(jws) { true } else { false }
            #expect(isGenuine)
        }
        let listed = try pages.flatMap { try $0.uuids }
        let sent = try traffic.items.filter { $0.expectedRefusal == nil }.compactMap { item in
            try Self.uuid(of: item.value ?? [])
        }
        #expect(Set(listed) == Set(sent) && listed.count == Set(listed).count)
        #expect(Set(sent).count > 50 && sent.count > Set(sent).count)
    }

    /// The UUID of a notification of the Production app, in the window that is asked for.
    private static func uuid(of body: [UInt8]) throws -> String? {
        guard let root = try? JSONDocument(parsing: body).root, let jws = root["signedPayload"] else { return nil }
        let payload = try AppleClient.payload(jws)
        let parts = ["data", "summary", "appData", "externalPurchaseToken"]
        let about = parts.lazy.compactMap { payload[$0] }.first
        let isAsked =
            about?["bundleId"]?.string == "com.example.pro" && about?["environment"]?.string != "Sandbox"
            && payload["signedDate"]?.int64 ?? 0 >= now - 170 * day
        return isAsked ? payload["notificationUUID"]?.string : nil
    }
}
