import AppStore
import Entitlements
import Kafka
import Postgres
import TestSupport
import Testing
import Simulation
import Worker

@testable import LinkStage

/// Purchases of one Apple Account name each other's owner.
@Suite(.timeLimit(.minutes(10))) struct LinkStageAccountTests {
    private static let anna = LinkWorker.anna
    private static let bob = LinkWorker.bob

    @Test func `a purchase without a token belongs to the one user of its account`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle(.purchase("1", token: Self.anna, account: "A"))
        #expect(try await worker.settle(.purchase("2", account: "A")) == ["anna"])
        #expect(try await worker.settle(.purchase("3", account: "B")) == [nil])
        #expect(try await worker.owners() == ["1 anna account_token", "2 anna sibling_purchase", "3 nobody unlinked"])
    }

    @Test func `purchases without an owner are sent when their account gets a user`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle([
            .purchase("1", account: "A"), .purchase("2", account: "A"), .purchase("3", account: "B"),
        ])
        let owners = try await worker.settle(.purchase("4", token: Self.anna, account: "A"))
        #expect(owners[0] == "anna")
        #expect(owners.dropFirst().compactMap(\.self).sorted() == ["1=anna", "2=anna"])
        #expect(try await worker.unsentCount() == 0)
        #expect(try await worker.owners()[0] == "1 anna sibling_purchase")
        // Nothing new, nothing to send.
        #expect(try await worker.settle(.purchase("4", token: Self.anna, account: "A")) == ["anna"])
    }

    @Test func `two users of one account leave other purchases without an owner`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle([.purchase("1", account: "A"), .purchase("2", token: Self.anna, account: "A")])
        #expect(try await worker.owners()[0] == "1 anna sibling_purchase")
        let owners = try await worker.settle(.purchase("3", token: Self.bob, account: "A"))
        #expect(owners == ["bob", "1=nobody"])
        #expect(try await worker.owners()[0] == "1 nobody ambiguous_siblings")
        // The one purchase passes to the other user: again there is one.
        let moved = try await worker.settle(.purchase("2", "9", at: 9_000, token: Self.bob, account: "A"))
        #expect(moved == ["bob", "1=bob"])
    }

    @Test func `another app or environment is another account`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle(.purchase("1", token: Self.anna, account: "A"))
        let others = [
            Sample.purchase("2", account: "A").with { $0.environment = .sandbox },
            Sample.purchase("3", account: "A").with { $0.bundleID = "com.example.other" },
        ]
        #expect(try await worker.settle(others) == [nil, nil])
    }

    @Test func `a link of the account comes before its other purchases`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.link("app_transaction_id", "A", "carl")
        try await worker.settle(.purchase("1", token: Self.anna, account: "A"))
        #expect(try await worker.settle(.purchase("2", account: "A")) == ["carl"])
        #expect(try await worker.owners()[1] == "2 carl app_transaction_link")
    }

    @Test func `an app transaction belongs to the user of its account`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        var fields = AppTransactionFields()
        fields.appTransactionID = "A"
        let sample = Sample(appTransaction: fields)
        #expect(try await worker.settle(sample) == [nil])
        try await worker.settle(.purchase("1", token: Self.anna, account: "A"))
        #expect(try await worker.settle(sample) == ["anna"])
    }

    @Test func `a purchase whose message names no account keeps that of its facts`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle([.purchase("1", "1", account: "A"), .purchase("2", account: "A")])
        let owners = try await worker.settle(.purchase("1", "3", at: 2_000, token: Self.anna))
        #expect(owners == ["anna", "2=anna"])
    }

    @Test func `an unsent change is sent by the next worker`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle(.purchase("1", account: "A"))
        let cause = Sample.purchase("2", token: Self.anna, account: "A")
        // Committed in PostgreSQL, and then the worker dies.
        _ = try await worker.process([cause])
        #expect(try await worker.unsentCount() == 1)
        let next = try await LinkWorker(on: worker.client)
        #expect(try await next.emptyOutbox() == ["1=anna"])
        #expect(try await worker.unsentCount() == 0)
        #expect(try await next.settle(cause) == ["anna"])
    }

    @Test func `workers that link the same accounts at once agree`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        let client = worker.client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<4 {
                group.addTask {
                    let other = try await LinkWorker(on: client)
                    for round in 0..<5 {
                        // Every worker names other purchases, in another order, of one account.
                        var samples = (0..<20).map { purchase in
                            Sample.purchase(
                                "\(purchase)", "\(purchase)-\(index)-\(round)", at: Int64(round * 10 + index),
                                token: purchase == index ? Self.anna : nil, account: purchase % 2 == 0 ? "A" : "B")
                        }
                        samples.shuffle()
                        try await other.settle(samples)
                    }
                }
            }
            try await group.waitForAll()
        }
        // Changes during another's sending are sent at the next occasion.
        try await worker.emptyOutbox()
        let owners = try await worker.owners()
        #expect(owners.count == 20)
        #expect(owners.allSatisfy { $0.contains(" anna ") }, "\(owners)")
        #expect(try await worker.unsentCount() == 0)
    }
}
