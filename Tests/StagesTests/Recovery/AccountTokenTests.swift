import AppStore
import Entitlements
import Operations
import Postgres
import Simulation
import Store
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// Account tokens that are set at Apple for purchases that were linked otherwise.
@Suite(.timeLimit(.minutes(10))) struct AccountTokenTests {
    private typealias Rig = TokenRig

    private static let anna = LinkWorker.anna
    private static let bob = LinkWorker.bob

    @Test func `a purchase linked by its ID gets the token after a day, and its renewal names the user by it`()
        async throws
    {
        let rig = try await Rig()
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.run(AppleWorld.storing("1"))
        try await rig.sell(.purchase("1", at: 1_000, until: 2_000))
        try await rig.recovery.wake(tokensToo: false)
        try await rig.turn()
        try await rig.turn()
        #expect(try await rig.requests() == ["1 anna waiting"])
        #expect(rig.world.accountTokens.isEmpty)
        #expect(try await rig.tokens(of: "anna").isEmpty)
        #expect(try await rig.explained("1") == "waiting")

        try await rig.passDay()
        let token = try #require(rig.world.accountToken(of: "1"))
        #expect(try await rig.tokens(of: "anna") == [token])
        #expect(try await rig.requests() == ["1 anna done"])
        #expect(try await rig.explained("1") == "done")
        #expect(rig.recovery.metrics.contains(#"recovery_requests_total{endpoint="account token",result="ok"} 1"#))

        // Nothing sets it a second time.
        try await rig.passDay()
        try await rig.restart()
        try await rig.passDay()
        #expect(rig.world.accountTokens.count == 1)

        try await rig.link.settle(.purchase("1", "2", at: 2_000, signed: 2, token: token, until: 3_000))
        try await rig.run("DELETE FROM account_links WHERE kind = 'original_transaction_id'")
        try await rig.link.emptyOutbox()
        #expect(try await rig.link.owners() == ["1 anna account_token"])
    }

    /// Apple's errors, and the results of their requests.
    private static let refusals: [(Int, Int, String)] = [
        (400, 4_000_183, "refused"), (400, 4_000_185, "family_shared"), (400, 4_000_187, "refused"),
        (400, 4_000_227, "assigned"), (400, 4_000_048, "refused"), (400, 4_000_006, "not_found"),
        (404, 4_040_005, "not_found"), (404, 4_040_010, "not_found"),
    ]

    @Test func `what Apple refuses ends with its reason and is not asked again`() async throws {
        let rig = try await Rig()
        for index in Self.refusals.indices {
            try await rig.link.link("original_transaction_id", "\(index)", "anna")
            try await rig.sell(.purchase("\(index)"))
        }
        rig.recovery.apple.inject { request in
            guard request.endpoint == .accountToken, let index = Int(request.id) else { return nil }
            return .error(status: Self.refusals[index].0, code: Self.refusals[index].1)
        }
        for _ in 1...2 {
            try await rig.passDay()
            let expected = Self.refusals.enumerated().map { "\($0) anna \($1.2)" }
            #expect(try await rig.requests() == expected)
            #expect(rig.recovery.apple.requests.count { $0.endpoint == .accountToken } == Self.refusals.count)
        }
        // No operator can mend them.
        #expect(try await rig.recovery.client.run(RecoveryRequestTable.counts).allSatisfy { $0.unfinished == 0 })
        // Another owner changes nothing about it.
        try await rig.run("UPDATE account_links SET user_id = 'bob' WHERE kind = 'original_transaction_id'")
        try await rig.link.emptyOutbox()
        try await rig.passDay()
        #expect(rig.recovery.apple.requests.count { $0.endpoint == .accountToken } == Self.refusals.count)
    }

    @Test func `shared and unknown purchases are refused as Apple does`() async throws {
        let rig = try await Rig()
        for (id, ownership) in [("1", "FAMILY_SHARED"), ("2", "ASSIGNED"), ("3", nil)] {
            if let ownership { try rig.world.sell(id, ownership: ownership) }
            try await rig.link.link("original_transaction_id", id, "anna")
            try await rig.link.settle(.purchase(id))
        }
        try await rig.passDay()
        #expect(try await rig.requests() == ["1 anna family_shared", "2 anna assigned", "3 anna not_found"])
        #expect(rig.world.accountTokens.isEmpty)
    }

    @Test(arguments: [AppleFault.error(status: 500, code: 5_000_001), .error(status: 404, code: 4_040_006), .cutBody])
    func `a fault of Apple's server is retried with the same token`(fault: AppleFault) async throws {
        let rig = try await Rig()
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.sell(.purchase("1"))
        rig.recovery.apple.inject { $0.endpoint == .accountToken && $0.number == 1 ? fault : nil }
        try? await rig.passDay()
        #expect(try await rig.requests() == ["1 anna waiting"])
        try await rig.restart()
        try await rig.recovery.wake()
        try await rig.turn()
        #expect(try await rig.requests() == ["1 anna done"])
        #expect(Set(rig.world.accountTokens.map(\.token)) == Set(try await rig.tokens(of: "anna")))
        #expect(try await rig.tokens(of: "anna").count == 1)
    }

    @Test func `Retry-After pauses this endpoint alone`() async throws {
        let rig = try await Rig()
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.sell(.purchase("1"))
        rig.recovery.apple.inject { $0.endpoint == .accountToken && $0.number == 1 ? .rateLimit(.seconds(90)) : nil }
        try await rig.passDay()
        let held = try await rig.recovery.client.run(RecoveryLimitTable.held, .now)
        #expect(held.map(\.endpoint.name) == ["account_token"])
        try await rig.turn()
        #expect(rig.recovery.apple.requests.count { $0.endpoint == .accountToken } == 1)
        _ = try await rig.recovery.client.run(RecoveryLimitTable.lift, (.production, nil, .now))
        rig.recovery.apple.forgetLimits()
        try await rig.turn()
        #expect(try await rig.requests() == ["1 anna done"])
    }

    /// A purchase's history, and what becomes of its token.
    private struct Case: CustomStringConvertible, Sendable {
        let description: String
        var rules = OwnershipRules()
        /// Further rows of `account_links`, beside Bob's token.
        var links: [String] = []
        let samples: [Sample]
        /// The request; `nil` without one.
        let request: String?
        /// The token at Apple; `nil` if none is set.
        var token: String?
    }

    private static let byID = "('original_transaction_id', '', '', '1', 'anna')"
    private static let trusting = OwnershipRules(trustsIngestion: true)
    private static let cases: [Case] = [
        Case(
            description: "a token that no link names, linked by account",
            links: ["('app_transaction_id', '', '', 'A', 'anna')"],
            samples: [.purchase("1", token: anna, account: "A")], request: "1 anna other_token"),
        Case(
            description: "another user's token, and a link of the purchase", links: [byID, tokenLink("7")],
            samples: [.purchase("1", token: bob)], request: "1 anna done", token: tokenKey("7")),
        Case(
            description: "the user's own token, and a link of the purchase",
            links: [byID, "('account_token', '', '', '\(anna)', 'anna')"], samples: [.purchase("1", token: anna)],
            request: "1 anna done"),
        Case(description: "the owner's token names it", samples: [.purchase("1", token: bob)], request: nil),
        Case(
            description: "the newest of several tokens",
            links: [
                byID, tokenLink("8"), tokenLink("7"), "('account_token', 'Sandbox', '', '\(tokenKey("9"))', 'anna')",
            ], samples: [.purchase("1")], request: "1 anna done", token: tokenKey("7")),
        Case(
            description: "a token that is another user's in this app",
            links: [
                byID, tokenLink("6"), tokenLink("7"),
                "('account_token', 'Production', 'com.example.pro', '\(tokenKey("7"))', 'bob')",
            ], samples: [.purchase("1")], request: "1 anna done", token: tokenKey("6")),
        Case(
            description: "the ingestion service's user", rules: trusting, links: [tokenLinkOfCarl],
            samples: [.purchase("1", account: "A", claim: "carl")], request: "1 carl done", token: tokenKey("5")),
        Case(
            description: "the ingestion service's second user", rules: trusting,
            samples: [.purchase("1", at: 1, claim: "dora"), .purchase("1", "2", at: 2, claim: "carl")],
            request: "1 carl several_users"),
        Case(
            description: "an account of two users by the ingestion service", rules: trusting,
            samples: [.purchase("1", account: "A", claim: "carl"), .purchase("2", account: "A", claim: "dora")],
            request: "1 carl several_users"),
        Case(
            description: "a user ID that is a token", rules: OwnershipRules(tokensAreUserIDs: true),
            links: ["('original_transaction_id', '', '', '1', '\(anna)')"], samples: [.purchase("1")],
            request: "1 \(anna) done", token: anna),
        Case(
            description: "a user ID that is no token", rules: OwnershipRules(tokensAreUserIDs: true), links: [byID],
            samples: [.purchase("1")], request: "1 anna not_a_uuid"),
        Case(description: "a purchase without an owner", samples: [.purchase("1")], request: nil),
    ]

    private static func tokenKey(_ digit: Character) -> String {
        "\(String(repeating: digit, count: 8))-0000-4000-8000-000000000000"
    }

    private static func tokenLink(_ digit: Character) -> String {
        "('account_token', '', '', '\(tokenKey(digit))', 'anna')"
    }

    private static let tokenLinkOfCarl = "('account_token', '', '', '\(tokenKey("5"))', 'carl')"

    @Test(arguments: cases.indices) func `each kind of purchase has its result`(index: Int) async throws {
        let one = Self.cases[index]
        let rig = try await Rig(rules: one.rules)
        try await rig.link.link("account_token", Self.bob, "bob")
        for row in one.links {
            try await rig.run("INSERT INTO account_links (kind, environment, bundle_id, key, user_id) VALUES \(row)")
        }
        for sample in one.samples { try await rig.sell(sample) }
        try await rig.link.emptyOutbox()
        try await rig.passDay()
        #expect(try await rig.requests().first == one.request, "\(one)")
        #expect(rig.world.accountToken(of: "1") == one.token, "\(one)")
    }

    @Test func `a link of the purchase decides over a token that was left alone`() async throws {
        let rig = try await Rig()
        try await rig.link.link("app_transaction_id", "A", "anna")
        try await rig.sell(.purchase("1", token: Self.anna, account: "A"))
        try await rig.passDay()
        #expect(try await rig.requests() == ["1 anna other_token"])
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.link.emptyOutbox()
        try await rig.passDay()
        #expect(try await rig.requests() == ["1 anna done"])
        #expect(rig.world.accountToken(of: "1") != nil)
    }

    @Test func `a new owner waits for a day, and gets a token of their own`() async throws {
        let rig = try await Rig()
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.sell(.purchase("1"))
        try await rig.recovery.wake(tokensToo: false)
        try await rig.turn()
        let move = "UPDATE account_links SET user_id = 'bob' WHERE kind = 'original_transaction_id'"
        try await rig.run(move)
        try await rig.link.emptyOutbox()
        try await rig.run("UPDATE recovery_requests SET due_at = now()")
        try await rig.turn()
        // Anna's day has not ended with her.
        #expect(try await rig.requests().isEmpty)
        try await rig.passDay()
        let bobs = try await rig.tokens(of: "bob")
        #expect(rig.world.accountTokens.map(\.token) == bobs)
        // Transferred after the token was set, and after Apple's next body had it.
        try await rig.link.settle(.purchase("1", "2", at: 2_000, signed: 2, token: bobs[0]))
        try await rig.run("UPDATE account_links SET user_id = 'carl' WHERE kind = 'original_transaction_id'")
        try await rig.link.emptyOutbox()
        try await rig.passDay()
        #expect(try await rig.requests() == ["1 carl done"])
        #expect(rig.world.accountTokens.map(\.token) == bobs + (try await rig.tokens(of: "carl")))
    }

    @Test func `a link that is removed before the day has passed sets nothing`() async throws {
        let rig = try await Rig()
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.sell(.purchase("1"))
        try await rig.recovery.wake(tokensToo: false)
        try await rig.turn()
        try await rig.run("DELETE FROM account_links")
        try await rig.run("UPDATE recovery_requests SET due_at = now()")
        // link-worker has not seen the link go.
        try await rig.turn()
        #expect(try await rig.requests() == ["1 anna waiting"])
        try await rig.link.emptyOutbox()
        try await rig.passDay()
        #expect(try await rig.requests().isEmpty)
        #expect(rig.world.accountTokens.isEmpty)
        #expect(try await rig.tokens(of: "anna").isEmpty)
    }

    @Test func `purchases of one user get one token, also side by side and in two apps`() async throws {
        let rig = try await Rig([.pro, .coins])
        for index in 1...20 {
            try await rig.link.link("original_transaction_id", "\(index)", "anna")
            try await rig.sell(.purchase("\(index)"))
        }
        // The same ID in the other app, which Apple does not know there.
        try await rig.link.settle(
            Sample.purchase("1").with {
                $0.bundleID = Identifier(DemoApp.coins.bundleID)
                $0.transaction?.bundleID = DemoApp.coins.bundleID
            })
        try await rig.passDay()
        let tokens = try await rig.tokens(of: "anna")
        #expect(tokens.count == 1)
        #expect(Set(rig.world.accountTokens.map(\.originalID)).count == 20)
        #expect(Set(rig.world.accountTokens.map(\.token)) == Set(tokens))
        let requests = try await rig.requests()
        #expect(requests.count == 21 && requests.count { $0 == "1 anna not_found" } == 1)
    }

    @Test func `a forgotten user's token, requests and results are removed`() async throws {
        let rig = try await Rig(rules: Self.trusting)
        try await rig.sell(.purchase("1", claim: "anna"), .purchase("2", claim: "anna"))
        try await rig.passDay()
        try await rig.run("UPDATE recovery_requests SET finished_at = NULL, result = NULL WHERE subject = '2'")
        let stored = await PipelineTool.run(["whats-stored", "anna"], on: rig.recovery.url)
        #expect(stored.output.contains("recovery_requests"))
        let forget = ["forget", "anna", "--by", "dpo", "--reason", "request 9"]
        #expect(await PipelineTool.run(forget, on: rig.recovery.url).code == 0)
        let count = rig.world.accountTokens.count
        // link-worker has not seen it.
        try await rig.turn()
        #expect(try await rig.tokens(of: "anna").isEmpty)
        #expect(try await rig.requests().isEmpty)
        try await rig.link.emptyOutbox()
        try await rig.passDay()
        #expect(try await rig.requests().isEmpty)
        #expect(rig.world.accountTokens.count == count)
    }

    /// A worker with due purchases of Anna's, and the request of each.
    private static func due(_ ids: String...) async throws -> (Rig, [RecoveryRequestTable.Request]) {
        let rig = try await Rig(rules: trusting)
        for id in ids { try await rig.sell(.purchase(id, claim: "anna")) }
        try await rig.recovery.wake(tokensToo: false)
        try await rig.turn()
        try await rig.run("UPDATE recovery_requests SET due_at = now()")
        let requests = ids.map { id in
            RecoveryRequestTable.Request(
                app: RecoveryRig.app, kind: .accountToken, subject: Identifier(id), userID: "anna")
        }
        return (rig, requests)
    }

    @Test func `no token is made for a user who is forgotten at that moment`() async throws {
        let (rig, requests) = try await Self.due("1")
        let (recovery, url) = (rig.recovery, rig.recovery.url)
        let forgetting = try await recovery.client.transaction { transaction in
            // The token is made, and not committed.
            #expect(try await transaction.run(RecoveryRequestTable.tokenToSet, requests[0])[0] != nil)
            let forgetting = Task {
                await PipelineTool.run(["forget", "anna", "--by", "dpo", "--reason", "r"], on: url).code
            }
            try await eventually {
                try await recovery.count("pg_locks WHERE NOT granted AND locktype = 'transactionid'") > 0
            }
            return forgetting
        }
        #expect(await forgetting.value == 0)
        #expect(try await rig.tokens(of: "anna").isEmpty)
        #expect(try await rig.requests().isEmpty)
    }

    @Test func `a token that is being made is waited for by the user's other purchases`() async throws {
        let (rig, requests) = try await Self.due("1", "2")
        let recovery = rig.recovery
        let (first, second) = try await recovery.client.transaction { transaction in
            let first = try await transaction.run(RecoveryRequestTable.tokenToSet, requests[0])[0]
            let second = Task { try await recovery.client.run(RecoveryRequestTable.tokenToSet, requests[1])[0] }
            try await eventually {
                try await recovery.count("pg_locks WHERE NOT granted AND locktype = 'advisory'") > 0
            }
            return (first, second)
        }
        #expect(try await second.value == first && first != nil)
        #expect(try await rig.tokens(of: "anna") == [first])
    }

    @Test func `without the setting nothing is set, and what waits is withdrawn`() async throws {
        let rig = try await Rig()
        try await rig.link.link("original_transaction_id", "1", "anna")
        try await rig.sell(.purchase("1"))
        try await rig.recovery.wake(tokensToo: false)
        try await rig.turn()
        await rig.worker.outboxes[0].close()
        let app = """
            [{"bundle_id":"\(DemoApp.pro.bundleID)","environment":"Production","app_apple_id":1,\
            "api_issuer_id":"issuer","api_key_id":"KEY1","api_key_file":"\(rig.recovery.keyPath)"}]
            """
        let other = try rig.recovery.worker(["APPS": app])
        for _ in 1...2 {
            try await eventually {
                try await rig.recovery.turn(other)
                return try await rig.requests().isEmpty
            }
            try await rig.recovery.wake()
        }
        #expect(rig.world.accountTokens.isEmpty)
        await other.outboxes[0].close()
    }
}
