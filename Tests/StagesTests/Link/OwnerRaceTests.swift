import AppStore
import Entitlements
import Foundation
import Kafka
import LinkStage
import Postgres
import Store
import TestSupport
import Testing
import Worker

/// The owner of a purchase gets its entitlements, whatever else happens at the same time.
@Suite(.timeLimit(.minutes(10))) struct OwnerRaceTests {
    /// The changes of a customer's link while the purchase is posted again.
    private enum Change: CaseIterable {
        case written, changed, removed

        var before: String? { self == .written ? nil : "old" }
        var after: String? { self == .removed ? nil : "new" }
    }

    private enum Step: CaseIterable { case link, postAgain, emptyOutbox, project }

    /// The ways in which a purchase comes again.
    private enum Repetition: CaseIterable {
        /// A duplicate that `dedupe-worker` marks because a request waits for it.
        case awaited
        /// A repetition after the memory of `dedupe-worker` was pruned; no request waits.
        case forgotten

        func sample(_ sample: Sample) -> Sample {
            sample.with { again in
                guard self == .awaited else { return }
                again.isDuplicate = true
                again.headers = [KafkaHeader(name: "correlation-id", text: "request")]
            }
        }
    }

    private struct Customer {
        let id: String
        let change: Change
        let repetition: Repetition

        func user(_ phase: String) -> String { "\(phase)-\(id)" }
        var purchase: Sample { .purchase(id, account: "A\(id)", until: 9_000_000_000_000) }
        var held: [String] { change.after.map { ["\(id) \(user($0))"] } ?? [] }
    }

    private static func customers(_ prefix: String, each: Int) -> [Customer] {
        Change.allCases.flatMap { change in
            Repetition.allCases.flatMap { repetition in
                (0..<each).map { number in
                    Customer(id: "\(prefix)-\(change)-\(repetition)-\(number)", change: change, repetition: repetition)
                }
            }
        }
    }

    private static func orders<T>(_ steps: [T]) -> [[T]] {
        guard steps.count > 1 else { return [steps] }
        return steps.indices.flatMap { index in
            var rest = steps
            let first = rest.remove(at: index)
            return orders(rest).map { [first] + $0 }
        }
    }

    /// Buys and projects all purchases, with their first owners.
    private static func begin(_ path: LinkedPath, _ customers: [Customer]) async throws {
        try await path.write(
            "app_transaction_id",
            customers.compactMap { customer in customer.change.before.map { ("A\(customer.id)", customer.user($0)) } })
        try await path.post(customers.map(\.purchase))
        try await path.emptyOutbox()
        try await path.project()
    }

    private static func relink(_ path: LinkedPath, _ customers: [Customer]) async throws {
        try await path.write(
            "app_transaction_id",
            customers.compactMap { customer in customer.change.after.map { ("A\(customer.id)", customer.user($0)) } })
        try await path.removeLinks(customers.filter { $0.change == .removed }.map { "A\($0.id)" })
    }

    private static func expectHeld(_ path: LinkedPath, _ customers: [Customer]) async throws {
        let held = Set(try await path.held())
        let expected = Set(customers.flatMap(\.held))
        #expect(expected.subtracting(held).count == 0, "paid, linked, and without access")
        #expect(held.subtracting(expected).count == 0, "access that should have ended")
        #expect(customers.count >= 288)
    }

    @Test func `a purchase that is posted again while its link changes follows it, in any order`() async throws {
        let path = try await LinkedPath()
        var all: [Customer] = []
        for (number, order) in Self.orders(Step.allCases).enumerated() {
            let customers = Self.customers("\(number)", each: 2)
            all += customers
            try await Self.begin(path, customers)
            for step in order {
                switch step {
                case .link: try await Self.relink(path, customers)
                case .postAgain: try await path.post(customers.map { $0.repetition.sample($0.purchase) })
                case .emptyOutbox: try await path.emptyOutbox()
                case .project: try await path.project()
                }
            }
            try await path.emptyOutbox()
            try await path.project()
        }
        try await Self.expectHeld(path, all)
    }

    @Test func `purchases posted again beside their links follow them at once`() async throws {
        let path = try await LinkedPath()
        let customers = Self.customers("c", each: 50)
        try await Self.begin(path, customers)
        try await Self.atOnce(
            path, { for part in customers.shuffled().parts(of: 7) { try await Self.relink(path, part) } },
            {
                for part in (customers + customers).shuffled().parts(of: 5) {
                    try await path.post(part.map { $0.repetition.sample($0.purchase) })
                }
            })
        try await Self.expectHeld(path, customers)
    }

    /// The projection has read the former owner and waits to write when the owner changes.
    @Test func `a projection beside a change of the owner is followed by another`() async throws {
        let path = try await LinkedPath()
        let customer = Customer(id: "c", change: .changed, repetition: .forgotten)
        try await Self.begin(path, [customer])
        let holder = try await path.client.connect()
        _ = try await holder.query("BEGIN")
        _ = try await holder.run(Locks.users, [Identifier(customer.user("old"))])

        // A new period of the purchase; the user's lock keeps it from being written.
        try await path.post([.purchase("c", "c-2", account: "Ac", until: 9_100_000_000_000)])
        async let projected = path.project()
        try await eventually {
            try await path.client.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """)[0].int8(0) == 1
        }
        try await Self.relink(path, [customer])
        try await path.emptyOutbox()
        #expect(try await path.held() == ["c \(customer.user("old"))"])
        _ = try await holder.query("COMMIT")
        _ = try await projected
        #expect(try await path.client.query("SELECT FROM owner_changes").count == 1)

        try await path.project()
        #expect(try await path.held() == customer.held)
        #expect(try await path.client.query("SELECT FROM owner_changes").count == 0)
        await holder.close()
    }

    /// Runs both at the same time, beside both workers, and lets the workers finish.
    private static func atOnce(
        _ path: LinkedPath, _ first: @escaping @Sendable () async throws -> Void,
        _ second: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let working = Task {
                while !Task.isCancelled {
                    try await path.emptyOutbox()
                    try await path.project()
                }
            }
            group.addTask { try await first() }
            group.addTask { try await second() }
            try await group.waitForAll()
            working.cancel()
            _ = await working.result
        }
        try await path.emptyOutbox()
        try await path.project()
    }

    /// Two purchases of one account; the second names no user, so the owner of the first owns it.
    private struct Account {
        let id: String
        let change: Change

        var token: String { Self.token(id) }
        var samples: [Sample] {
            [
                .purchase("\(id)-1", token: token, account: id, until: 9_000_000_000_000),
                .purchase("\(id)-2", account: id, until: 9_000_000_000_000),
            ]
        }
        var held: [String] { change.after.map { user in ["\(id)-1 \(user)-\(id)", "\(id)-2 \(user)-\(id)"] } ?? [] }

        private static func token(_ id: String) -> String {
            let digits = id.utf8.map { String(format: "%02x", $0) }.joined()
            let padded = String((digits + String(repeating: "0", count: 32)).prefix(32))
            let cuts = [8, 12, 16, 20]
            return padded.enumerated().map { cuts.contains($0) ? "-\($1)" : "\($1)" }.joined()
        }
    }

    private enum AccountStep: CaseIterable { case link, postFirst, postSecond, emptyOutbox, project }

    @Test func `purchases whose owners name each other follow the link of one, in any order`() async throws {
        let path = try await LinkedPath()
        var all: [Account] = []
        for (number, order) in Self.orders(AccountStep.allCases).enumerated() {
            let accounts = Change.allCases.map { Account(id: "\(number)\($0)", change: $0) }
            all += accounts
            try await path.write(
                "account_token",
                accounts.compactMap { account in account.change.before.map { (account.token, "\($0)-\(account.id)") } })
            try await path.post(accounts.flatMap(\.samples))
            try await path.emptyOutbox()
            try await path.project()
            for step in order { try await Self.perform(step, accounts, path) }
            try await path.emptyOutbox()
            try await path.project()
        }
        let held = Set(try await path.held())
        let expected = Set(all.flatMap(\.held))
        #expect(expected.subtracting(held).count == 0, "paid, linked, and without access")
        #expect(held.subtracting(expected).count == 0, "access that should have ended")
        #expect(all.count == 360)
    }

    private static func perform(_ step: AccountStep, _ accounts: [Account], _ path: LinkedPath) async throws {
        func postAgain(_ index: Int) async throws {
            try await path.post(accounts.map { Repetition.awaited.sample($0.samples[index]) })
        }
        switch step {
        case .link:
            try await path.write(
                "account_token",
                accounts.compactMap { account in account.change.after.map { (account.token, "\($0)-\(account.id)") } })
            try await path.removeLinks(accounts.filter { $0.change == .removed }.map(\.token))
        case .postFirst: try await postAgain(0)
        case .postSecond: try await postAgain(1)
        case .emptyOutbox: try await path.emptyOutbox()
        case .project: try await path.project()
        }
    }

    @Test func `bulk links during a backfill miss no purchase`() async throws {
        let path = try await LinkedPath()
        let customers = Self.customers("b", each: 60)
        try await path.write(
            "app_transaction_id",
            customers.compactMap { customer in customer.change.before.map { ("A\(customer.id)", customer.user($0)) } })
        try await Self.atOnce(
            path, { try await Self.relink(path, customers) },
            {
                for part in customers.shuffled().parts(of: 20) {
                    try await path.post(part.map(\.purchase))
                    try await path.post(part.map { $0.repetition.sample($0.purchase) })
                }
            })
        try await Self.expectHeld(path, customers)
    }
}

extension Array {
    fileprivate func parts(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
