import AppStore
import EntitleStage
import Entitlements
import Foundation
import Kafka
import LinkStage
import Postgres
import Records
import Simulation
import Store
import Synchronization
import TestSupport
import Testing
import Worker

@testable import Operations

/// The workers write what a plan says, of any combination of inputs; `PLAN_SEEDS=50` takes 1,000 rounds.
@Suite(.timeLimit(.minutes(60))) struct PlanPropertyTests {
    private static let rounds = 20
    private static let seeds = 1...(ProcessInfo.processInfo.environment["PLAN_SEEDS"].flatMap { UInt64($0) } ?? 6)
    private static let products = ["basic", "pro", "life", "season", "pass", "coins", "receipt"]
    private static let day: Int64 = 86_400_000
    private static let tokens = (1...3).map { "0000000\($0)-0000-4000-8000-000000000000" }

    /// The input of a plan, which is then applied.
    private struct Input: CustomStringConvertible {
        var catalog: [UInt8]?
        var policy: OwnershipPolicy?
        var forgotten: Identifier?
        var links: [AccountLink] = []

        var description: String {
            "\(policy.map { "\($0)" } ?? "-"), forget \(forgotten?.text ?? "-"), \(links), "
                + String(decoding: catalog ?? [], as: UTF8.self)
        }
    }

    @Test(arguments: seeds) func `in random histories the plan of random inputs equals what is applied`(seed: UInt64)
        async throws
    {
        var random = SeededGenerator(seed: seed)
        var rules = OwnershipRules(tokensAreUserIDs: seed.isMultiple(of: 3), trustsIngestion: true)
        let rig = try await RebuildRig(rules)
        var changedCount = 0
        for round in 0..<Self.rounds {
            if round.isMultiple(of: 3) {
                try await Self.sell(to: rig, round, using: &random)
                try await Self.empty(try await LinkWorker(rules, on: rig.client), rig)
            }
            let input = Self.input(rules, using: &random)
            let plan = try await Self.plan(input, on: rig)
            rules.policy = input.policy ?? rules.policy
            try await Self.apply(input, rules, to: rig)
            let connection = try await rig.client.connect()
            let place = Comment(rawValue: "seed \(seed), round \(round): \(input)")
            #expect(try await Planned.rows("entitlements", on: connection) == plan.rows, place)
            #expect(try await Planned.balances(on: connection) == plan.balances, place)
            let access = try await Planned.access(at: plan.now, on: connection)
            #expect(access.subtracting(plan.access).count == plan.gained, place)
            #expect(plan.access.subtracting(access).count == plan.lost, place)
            changedCount += plan.changedCount
            await connection.close()
        }
        #expect(changedCount > 0)
    }

    private static func input(_ rules: OwnershipRules, using random: inout SeededGenerator) -> Input {
        func isChosen() -> Bool { Int.random(in: 0..<3, using: &random) == 0 }
        var input = Input()
        if isChosen() { input.policy = OwnershipPolicy.allCases.randomElement(using: &random) }
        let users: [Identifier] = ["anna", "ben", "carl"]
        if isChosen() {
            let known = rules.tokensAreUserIDs ? users + tokens.map { Identifier($0.uppercased()) } : users
            input.forgotten = known.randomElement(using: &random)
        }
        if isChosen() {
            let keys: [(LinkKind, [String])] = [
                (.accountToken, tokens), (.appTransactionID, ["1", "2"]),
                (.originalTransactionID, ["0-1", "3-2", "6-3"]),
            ]
            for (kind, keys) in keys where Bool.random(using: &random) {
                let user = users.filter { $0 != input.forgotten }.randomElement(using: &random) ?? "dora"
                let key = Identifier(keys.randomElement(using: &random) ?? "1")
                input.links.append(AccountLink(kind: kind, key: key, userID: user))
            }
        }
        let isOther = input.policy != nil || input.forgotten != nil || !input.links.isEmpty
        if !isOther || Bool.random(using: &random) { input.catalog = catalog(using: &random) }
        return input
    }

    private static func plan(_ input: Input, on rig: RebuildRig) async throws -> Planned {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).csv").path
        let lines = input.links.map { "\($0.kind.rawValue),\($0.key),\($0.userID)\n" }
        try ("kind,key,user\n" + lines.joined()).write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let connection = try await rig.client.connect()
        let plan = try await Planned(
            Planning(
                catalog: input.catalog.map { try Catalog(json: $0) }, policy: input.policy, forgotten: input.forgotten,
                links: input.links.isEmpty ? nil : try LinkSource(of: path), samplesMax: 2, purchasesMax: 4),
            on: connection)
        await connection.close()
        return plan
    }

    /// Does what the input says, and lets the workers settle.
    private static func apply(_ input: Input, _ rules: OwnershipRules, to rig: RebuildRig) async throws {
        let connection = try await rig.client.connect()
        if let user = input.forgotten {
            _ = try await connection.run(ForgottenUserTable.forget, (userID: user, by: "dpo", reason: "asked"))
        }
        if !input.links.isEmpty {
            _ = try await AccountLinkTable.add(input.links, mayMove: true, (by: "eva", reason: "why"), on: connection)
        }
        let worker = try await LinkWorker(rules, on: rig.client)
        if input.policy != nil {
            try await worker.stage.outboxes[0].waitForWork()
            _ = try await connection.run(LinkChangeTable.addAll)
        }
        if let json = input.catalog { try await rig.entitle.apply(catalog: json) }
        try await empty(worker, rig)
        try await rig.entitle.reproject()
        await connection.close()
    }

    private static func catalog(using random: inout SeededGenerator) -> [UInt8] {
        var entries: [String] = []
        for product in products where Int.random(in: 0..<6, using: &random) > 0 {
            let keys = ["gold", "silver", "bronze"].filter { _ in Bool.random(using: &random) }
            let amount = Int.random(in: 0...3, using: &random) * 50
            var members = [#""entitlements":["# + keys.map { "\"\($0)\"" }.joined(separator: ",") + "]"]
            switch product {
            case "life": members.append(#""type":"non-consumable""#)
            case "season", "pass": members += [#""type":"non-renewing""#, "\"duration\":\"P\(amount + 1)D\""]
            case "coins": members = [#""type":"consumable""#, "\"credits\":{\"coins\":\(amount)}"]
            case "receipt":
                let isStacked = Bool.random(using: &random)
                members += isStacked ? [#""type":"non-renewing","duration":"P30D""#] : [#""type":"non-consumable""#]
            default: members.append(#""type":"auto-renewable""#)
            }
            entries.append("\"\(product)\":{\(members.joined(separator: ","))}")
        }
        return Array("{\"products\":{\(entries.joined(separator: ","))}}".utf8)
    }

    /// Lets the outbox of `link-worker` send, and projects what it has sent.
    private static func empty(_ worker: LinkWorker, _ rig: RebuildRig) async throws {
        let sent = Mutex<[ProducerRecord]>([])
        try await worker.stage.outboxes[0].empty { records in sent.withLock { $0 += records } }
        let records = sent.withLock { $0 }.enumerated().map { ConsumerRecord($1, at: Int64($0)) }
        _ = try await rig.entitle.stage.process(records)
    }

    /// Adds purchases of a few users, some refunded and some with a second transaction that names another user.
    private static func sell(to rig: RebuildRig, _ round: Int, using random: inout SeededGenerator) async throws {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        for number in 0..<6 {
            let (id, product) = ("\(round)-\(number)", products.randomElement(using: &random) ?? "pro")
            for part in 1...Int.random(in: 1...2, using: &random) {
                let bought = now + Int64.random(in: -60...5, using: &random) * day
                let type: ProductType =
                    switch product {
                    case "life": .nonConsumable
                    case "season", "pass": .nonRenewing
                    case "coins": .consumable
                    // The catalog decides.
                    case "receipt": ProductType(rawValue: "Later")
                    default: .autoRenewable
                    }
                let account = Int.random(in: 1...4, using: &random)
                var observation = try Signed.transaction(
                    "\(id)-\(part)", signed: bought, original: id, product: product, type: type, purchased: bought,
                    expires: bought + Int64.random(in: 1...90, using: &random) * day,
                    revoked: Int.random(in: 0..<6, using: &random) == 0 ? bought + 3 * day : nil,
                    token: Bool.random(using: &random) ? tokens.randomElement(using: &random) : nil,
                    quantity: Int.random(in: 1...2, using: &random),
                    members: account < 3 ? #","appTransactionId":"\#(account)""# : "")
                if Bool.random(using: &random) {
                    observation.ingestUserID = (["anna", "ben", "carl"] as [Identifier]).randomElement(using: &random)
                }
                try await rig.settle(observations: [observation])
            }
        }
    }
}
