import AppStore
import OpenSSL
import Telemetry
import Testing
import TestSupport
import Simulation
import Topology
import VerifyStage
import Worker

/// The leaf certificates in use, as operators see them.
@Suite struct LeafWatchTests {
    private static let day: Int64 = 86_400

    private struct Rig {
        let clock = TestClock()
        let log = RecordingLogHandler()
        let registry = MetricsRegistry()
        let watch: LeafWatch
        let verifier: Verifier
        let blueprint: AuthorityBlueprint

        init() throws {
            let clock = clock
            watch = LeafWatch(registry, log: Log(log), now: { clock.now })
            blueprint = try AuthorityBlueprint(name: "Watched", validity: CertificateAuthority.standardValidity)
            let root = try Certificate(der: CertificateAuthority(blueprint).root)
            let app = ConfiguredApp.pro(trusting: [root])
            verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        }

        /// Signs with a leaf that ends in a number of days, a number of days ago.
        func sign(leafEndsIn end: Int64, signedDaysAgo age: Int64 = 0) throws {
            let now = clock.now.wholeSeconds
            let validity = (now - 700 * day)...(now + end * day)
            let authority = try CertificateAuthority(blueprint.withNextLeaf(validity: validity))
            let chain = [authority.leaf, authority.intermediate]
            watch.add(try chain.map { try Certificate(der: $0) })
            var fields = TransactionFields()
            fields.signedDate = (now - age * day) * 1_000
            guard case .success(.items(let items)) = verifier.verify(try authority.sign(fields.json)) else {
                Issue.record("the body was refused")
                return
            }
            watch.signed(items)
        }

        var lines: [Substring] { String(decoding: registry.exposition(), as: UTF8.self).split(separator: "\n") }

        var expiring: Substring? { lines.first { $0.hasPrefix("entitlements_verify_leaves_expiring ") } }

        func count(of name: String) -> Int { lines.count { $0.hasPrefix("entitlements_\(name){") } }
    }

    @Test func `a leaf in use that ends within 60 days is shown, one out of use is not`() throws {
        for (end, age, count) in [(61, 0, 0), (59, 0, 1), (59, 6, 1), (59, 8, 0), (-1, 8, 0)] {
            let rig = try Rig()
            try rig.sign(leafEndsIn: Int64(end), signedDaysAgo: Int64(age))
            #expect(rig.expiring == "entitlements_verify_leaves_expiring \(count)", "\(end) \(age)")
        }
    }

    @Test func `time alone brings a leaf's end near`() throws {
        let rig = try Rig()
        try rig.sign(leafEndsIn: 64)
        #expect(rig.expiring == "entitlements_verify_leaves_expiring 0")
        rig.clock.advance(by: .seconds(5 * 86_400))
        #expect(rig.expiring == "entitlements_verify_leaves_expiring 1")
    }

    @Test func `a new leaf is logged once, with its end and its issuers`() throws {
        let rig = try Rig()
        let chain = try RevocableAuthority(port: 9).chain
        rig.watch.add(chain)
        rig.watch.add(chain)
        let said = rig.log.metadata(of: "new leaf certificate in use")
        #expect(said.count == 1)
        for text in chain.map(\.fingerprint.hex) + ["2049-12-31T23:59:59Z"] {
            #expect(said.first?.contains(text) == true, "\(text)")
        }
    }

    @Test func `the number of series stays small, however many leaves come`() throws {
        let rig = try Rig()
        for _ in 0..<LeafWatch.leavesMax + 4 { try rig.sign(leafEndsIn: 100) }
        #expect(rig.count(of: "verify_leaf_observations_total") == LeafWatch.leavesMax)
        #expect(rig.count(of: "verify_leaf_end_timestamp_seconds") == LeafWatch.leavesMax)
    }
}
