import AppStore
import EntitleStage
import Entitlements
import Foundation
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing

@testable import Operations

/// The workers write what a plan says.
@Suite(.timeLimit(.minutes(10))) struct PlanPropertyTests {
    private static let rounds = 60
    private static let products = ["basic", "pro", "life", "season", "pass", "coins", "receipt"]
    private static let day: Int64 = 86_400_000

    @Test(arguments: [1, 2, 3] as [UInt64]) func `in random catalogs and histories the plan equals what is applied`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let rig = try await PlanRig()
        let connection = try await rig.worker.client.connect()
        var changedCount = 0
        for round in 0..<Self.rounds {
            if round.isMultiple(of: 3) { try await Self.sell(to: rig.worker, round, using: &random) }
            let json = Self.catalog(using: &random)
            let plan = try await Planned(
                Planning(catalog: Catalog(json: json), samplesMax: 2, purchasesMax: 4), on: connection)
            try await rig.worker.apply(catalog: json)
            try await rig.worker.reproject()
            let rows = try await Planned.rows("entitlements", on: connection)
            #expect(rows == plan.rows, "seed \(seed), round \(round): \(String(decoding: json, as: UTF8.self))")
            #expect(try await Planned.balances(on: connection) == plan.balances, "seed \(seed), round \(round)")
            let access = try await Planned.access(at: plan.now, on: connection)
            #expect(access.subtracting(plan.access).count == plan.gained, "seed \(seed), round \(round)")
            #expect(plan.access.subtracting(access).count == plan.lost, "seed \(seed), round \(round)")
            changedCount += plan.changedCount
        }
        #expect(changedCount > 100)
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

    /// Adds purchases of a few users, some refunded and some transferred.
    private static func sell(to worker: EntitleWorker, _ round: Int, using random: inout SeededGenerator) async throws {
        let users: [Identifier] = ["anna", "ben", "carl"]
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        for number in 0..<6 {
            let (id, product) = ("\(round)-\(number)", products.randomElement(using: &random) ?? "pro")
            let bought = now + Int64.random(in: -60...5, using: &random) * day
            let first = OwnershipSpan(userID: users.randomElement(using: &random) ?? "anna")
            var spans = [first]
            let next = users.randomElement(using: &random) ?? "anna"
            if next != first.userID, Int.random(in: 0..<4, using: &random) == 0 {
                spans.append(OwnershipSpan(userID: next, from: Timestamp(milliseconds: bought + 5 * day)))
            }
            try await worker.own([Signed.key(id): Ownership(spans: spans, rule: .accountToken)])
            let type: ProductType =
                switch product {
                case "life": .nonConsumable
                case "season", "pass": .nonRenewing
                case "coins": .consumable
                // The catalog decides.
                case "receipt": ProductType(rawValue: "Later")
                default: .autoRenewable
                }
            let revoked = Int.random(in: 0..<6, using: &random) == 0 ? bought + 3 * day : nil
            _ = try await worker.process([
                try Signed.transaction(
                    id, signed: bought, product: product, type: type, purchased: bought,
                    expires: bought + Int64.random(in: 1...90, using: &random) * day, revoked: revoked,
                    quantity: Int.random(in: 1...2, using: &random))
            ])
        }
    }
}
