import AppStore
import JSON
import TestSupport
import Testing
import Simulation

struct DemoTrafficTests {
    /// 2026-06-01.
    private static let now: Int64 = 1_780_272_000_000

    @Test func `it has as many bodies as asked for, and some of every kind`() throws {
        for count in [DemoTraffic.bodyCountMin, 2_000] {
            let traffic = try DemoTraffic(bodyCount: count, now: Self.now)
            #expect(traffic.items.count == count)
            let kinds = Set(traffic.items.map(\.kind))
            let missing = Set(DemoKind.allCases).subtracting(kinds)
            // The smallest has no room for the rarest defects.
            #expect(count < 2_000 ? missing.count < 8 : missing.isEmpty, "\(missing)")
        }
    }

    @Test func `one seed and one moment make the same customers in the same order`() throws {
        let first = try DemoTraffic(seed: 7, bodyCount: 300, now: Self.now)
        let second = try DemoTraffic(seed: 7, bodyCount: 300, now: Self.now)
        let other = try DemoTraffic(seed: 8, bodyCount: 300, now: Self.now)
        #expect(first.items.map(\.kind) == second.items.map(\.kind))
        #expect(first.users == second.users && first.links == second.links)
        #expect(first.users != other.users)
    }

    @Test func `what is wrong is a small part, and repetitions are there`() throws {
        let traffic = try DemoTraffic(now: Self.now)
        let refused = traffic.items.count { $0.expectedRefusal != nil }
        #expect((100...250).contains(refused))
        #expect(traffic.items.contains { $0.kind == .retried })
        #expect(traffic.items.contains { $0.kind == .duplicate })
        let values = traffic.items.compactMap(\.value)
        #expect(Set(values).count < values.count)
    }

    @Test func `each of four product types is sold, and somebody holds each entitlement`() throws {
        let traffic = try DemoTraffic(now: Self.now)
        let held = traffic.users.reduce(into: Set<String>()) { $0.formUnion($1.entitlements) }
        #expect(held.isSuperset(of: ["pro", "premium", "lifetime", "season"]))
        #expect(!held.contains(DemoProduct.forged.rawValue))
        #expect(traffic.users.contains { $0.coins > 0 })
        #expect(traffic.users.contains { !$0.sandboxEntitlements.isEmpty })
        #expect(Set(traffic.links.map(\.kind)) == [.accountToken, .appTransactionID, .originalTransactionID])
    }

    @Test func `the verifier refuses what is expected, for the reason expected`() throws {
        let traffic = try DemoTraffic(now: Self.now)
        let apps = try traffic.configuredApps()
        #expect(VerifierConfiguration.problems(with: apps) == [])
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        for item in traffic.items {
            switch verifier.verify(item.value) {
            case .success: #expect(item.expectedRefusal == nil, "\(item.kind.rawValue)")
            case .failure(let refusal): #expect(refusal.reason == item.expectedRefusal, "\(item.kind.rawValue)")
            }
        }
    }
}
