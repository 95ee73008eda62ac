import JSON
import Simulation
import TestSupport
import Testing

/// The endpoints that answer by a transaction or order.
@Suite(.hopeless) struct AppleEndpointTests {
    private static let day: Int64 = 86_400_000

    /// A purchase of one app with as many periods, signed a day apart.
    private func addSubscription(
        to world: AppleWorld, original: Int, periods: Int, bundleID: String = "com.example.pro"
    ) throws {
        for period in 0..<periods {
            try addTransaction(to: world, original + period, original, Int64(period), bundleID)
        }
    }

    private func addTransaction(
        to world: AppleWorld, _ id: Int, _ original: Int, _ signedDay: Int64, _ bundleID: String = "com.example.pro",
        revoked: Bool = false
    ) throws {
        var fields = TransactionFields()
        fields.transactionID = "\(id)"
        fields.originalTransactionID = "\(original)"
        fields.bundleID = bundleID
        fields.signedDate = AppleClient.now + signedDay * Self.day
        fields.revocationDate = revoked ? fields.signedDate : nil
        world.add(try world.authority.sign(fields.json))
    }

    @Test func `a history comes in pages of 20, by any of its transactions`() async throws {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 45)
        var ids: [String] = []
        var revision = ""
        for (count, hasMore) in [(20, true), (20, true), (5, false)] {
            let query = revision.isEmpty ? "" : "&revision=\(revision)"
            let page = try await client.get("/inApps/v2/history/117?sort=ASCENDING\(query)")
            #expect(try page.transactionIDs.count == count)
            #expect(page["hasMore"]?.bool == hasMore)
            ids += try page.transactionIDs
            revision = try #require(page["revision"]?.string)
        }
        #expect(ids == (100..<145).map { "\($0)" })
        let rest = try await client.get("/inApps/v2/history/117?revision=\(revision)")
        #expect(try rest.transactionIDs == [] && rest["revision"]?.string == revision)
    }

    @Test func `a transaction that changes between two pages comes again`() async throws {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 21)
        let first = try await client.get("/inApps/v2/history/100")
        try addTransaction(to: client.world, 103, 100, 60, revoked: true)
        let revision = try #require(first["revision"]?.string)
        let second = try await client.get("/inApps/v2/history/100?revision=\(revision)")
        #expect(try second.transactionIDs == ["120", "103"])
        let refunds = try await client.get("/inApps/v2/refund/lookup/100")
        #expect(try refunds.transactionIDs == ["103"])
        #expect(refunds["hasMore"]?.bool == false)
    }

    @Test func `an item comes again on the next page if the fault asks for it`() async throws {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 25)
        client.server.inject { $0.isFurtherPage ? .repeatedItem : nil }
        let first = try await client.get("/inApps/v2/history/100")
        let revision = try #require(first["revision"]?.string)
        let second = try await client.get("/inApps/v2/history/100?revision=\(revision)")
        #expect(try second.transactionIDs == (119..<125).map { "\($0)" })
    }

    @Test(arguments: [
        ("/inApps/v2/history/999", 404, 4_040_010), ("/inApps/v2/history/1x", 400, 4_000_006),
        ("/inApps/v2/history/500", 404, 4_040_010), ("/inApps/v2/refund/lookup/1", 404, 4_040_010),
        ("/inApps/v1/subscriptions/999", 404, 4_040_010), ("/inApps/v2/history/100?revision=x", 400, 4_000_005),
        ("/inApps/v2/history/100?sort=DESCENDING", 400, 4_000_021),
    ]) func `an unknown or malformed ID, also of another app, has Apple's error`(path: String, status: Int, code: Int64)
        async throws
    {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 1)
        try addSubscription(to: client.world, original: 500, periods: 1, bundleID: "com.example.coins")
        let answer = try await client.send(path)
        #expect(answer.status == status && AppleClient.code(answer) == code)
        #expect(answer.headers["content-type"] == "application/json")
    }

    @Test func `a subscription's status has its newest transaction and renewal info`() async throws {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 2)
        #expect(try await client.get("/inApps/v1/subscriptions/100")["data"]?.count == 0)
        for (status, signed) in [(0, 5), (1, 9), (0, 7)] as [(Int64, Int64)] {
            var renewal = RenewalFields()
            renewal.originalTransactionID = "100"
            renewal.autoRenewStatus = status
            renewal.signedDate = AppleClient.now + signed * Self.day
            client.world.add(try client.world.authority.sign(renewal.json))
        }
        let answer = try await client.get("/inApps/v1/subscriptions/100")
        let last = answer["data"]?.list.first?["lastTransactions"]?.list.first
        let transaction = try AppleClient.payload(last?["signedTransactionInfo"])
        #expect(transaction["transactionId"]?.string == "101")
        let renewal = try AppleClient.payload(last?["signedRenewalInfo"])
        #expect(renewal["autoRenewStatus"]?.int64 == 1)
    }

    @Test func `an order is found by its ID, an unknown one has status 1`() async throws {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 3)
        let order = try await client.get("/inApps/v1/lookup/M101")
        #expect(order["status"]?.int64 == 0)
        #expect(try order.transactionIDs == ["101"])
        for unknown in ["M999", "X", "M"] {
            let answer = try await client.get("/inApps/v1/lookup/\(unknown)")
            #expect(answer["status"]?.int64 == 1)
        }
    }

    @Test func `a transaction may be finished twice, and each time is recorded`() async throws {
        let client = try AppleClient()
        try addSubscription(to: client.world, original: 100, periods: 2)
        for id in ["101", "101", "100"] {
            let answer = try await client.send("/inApps/v1/transactions/\(id)/finish", body: "")
            #expect(answer.status == 200)
        }
        let unknown = try await client.send("/inApps/v1/transactions/7/finish", body: "")
        #expect(AppleClient.code(unknown) == 4_040_010)
        #expect(client.world.finished == ["101", "101", "100"])
    }

    @Test func `an unknown path is 404`() async throws {
        let client = try AppleClient()
        for path in ["/", "/inApps/v1/history/100", "/inApps/v2/history/100/200"] {
            #expect(try await client.send(path).status == 404)
        }
        #expect(client.server.requests.isEmpty)
    }
}
