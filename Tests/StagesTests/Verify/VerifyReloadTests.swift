import AppStore
import OpenSSL
import Records
import TestSupport
import Testing
import Simulation
import VerifyStage
import Topology
import Worker

/// The settings that `verify-worker` applies while it runs, and those it does not.
@Suite(.timeLimit(.minutes(10))) struct VerifyReloadTests {
    private static let taken = "settings reloaded"
    private static let refused = "reloaded settings invalid, previous settings stay in force"

    private static let first = Result { try CertificateAuthority(name: "First") }
    private static let second = Result { try CertificateAuthority(name: "Second") }

    private static func apps(bundleID: String = VerifyRig.bundleID) -> (String) -> String {
        { folder in
            #"[{"bundle_id": "\#(bundleID)", "environment": "Production","#
                + #" "app_apple_id": 1234567890, "roots": ["\#(folder)/root.pem"],"#
                + #" "test_root_in_production": true}]"#
        }
    }

    private static func body(_ authority: CertificateAuthority, _ id: Int) throws -> [UInt8] {
        var fields = TransactionFields()
        fields.transactionID = "\(id)"
        return try authority.sign(fields.json)
    }

    private static func pem(_ authority: CertificateAuthority) -> [UInt8] { Array(authority.rootPEM.utf8) }

    @Test func `a bad root file leaves the old trust and is logged, a good one is read`() async throws {
        let (first, second) = (try Self.first.get(), try Self.second.get())
        let rig = try await VerifyRig(apps: Self.apps(), files: ["root.pem": Self.pem(first)])
        try await rig.publish([Self.body(first, 1)])
        await eventually { rig.settled(.forwarded) == 1 }

        try rig.replace("root.pem", Array("no certificate".utf8))
        await eventually { rig.log.count(Self.refused) == 1 }
        #expect(rig.log.metadata(of: Self.refused).allSatisfy { $0.contains("root.pem") })
        #expect(rig.metric("entitlements_settings_refused_state") == 1)
        #expect(rig.metric("entitlements_settings_reloads_total{result=\"refused\"") == 1)
        try await rig.publish([Self.body(first, 2)])
        await eventually { rig.settled(.forwarded) == 2 }

        try rig.replace("root.pem", Self.pem(second))
        await eventually { rig.log.count(Self.taken) == 1 }
        #expect(rig.metric("entitlements_settings_refused_state") == 0)
        try await rig.publish([Self.body(second, 3), Self.body(first, 4)])
        await eventually { rig.settled(.forwarded) == 3 && rig.settled(.deadLettered) == 1 }
        let letters = "entitlements_dead_letters_total{reason=\"root_untrusted\""
        #expect(rig.metric(letters) == 1)
        try await rig.stop()
    }

    /// The two have one name and no key identifiers: only signatures distinguish them.
    @Test func `signatures of the former root are invalid under the next one of its name`() async throws {
        let both = try (0..<2).map { _ in
            try CertificateAuthority(name: "Namesake") {
                $0.root.subjectKeyIdentifier = nil
                $0.intermediate.authorityKeyIdentifier = nil
            }
        }
        let files = ["root.pem": Self.pem(both[0])]
        let rig = try await VerifyRig(apps: Self.apps(), files: files)
        try await rig.publish([Self.body(both[0], 1)])
        await eventually { rig.settled(.forwarded) == 1 }
        try rig.replace("root.pem", Self.pem(both[1]))
        await eventually { rig.log.count(Self.taken) == 1 }
        try await rig.publish([Self.body(both[0], 2), Self.body(both[1], 3)])
        await eventually { rig.settled(.forwarded) == 2 && rig.settled(.deadLettered) == 1 }
        #expect(rig.metric("entitlements_dead_letters_total{reason=\"chain_invalid\"") == 1)
        try await rig.stop()
    }

    @Test func `a signal arms the tripped breaker again and verifies held records`() async throws {
        let first = try Self.first.get()
        let rig = try await VerifyRig(
            apps: Self.apps(bundleID: "com.example.typo"), extra: #""breaker": {"refused_max": 5},"#,
            files: ["root.pem": Self.pem(first)], watchInterval: .seconds(3_600))
        try await rig.publish((1...20).map { try Self.body(first, $0) })
        await eventually { rig.service.health.reason(.breaker) != nil }
        #expect(!rig.service.health.isReady)

        try rig.rewrite(apps: Self.apps())
        rig.service.reload()
        await eventually { rig.settled(.forwarded) == 20 }
        #expect(rig.settled(.deadLettered) == 0)
        #expect(rig.service.health.isReady)
        #expect(rig.metric("entitlements_breaker_tripped_state") == 0)
        #expect(rig.log.metadata(of: Self.taken).allSatisfy { $0.contains("\"apps\"") })
        try await rig.stop()
    }

    @Test func `settings that need a restart are named, and all others are applied`() async throws {
        let (first, second) = (try Self.first.get(), try Self.second.get())
        let rig = try await VerifyRig(apps: Self.apps(), files: ["root.pem": Self.pem(first)])
        try rig.replace("root.pem", Self.pem(second))
        try rig.rewrite(
            apps: Self.apps(), extra: #""batch": {"records_max": 7}, "breaker": {"refused_max": 7},"#, prefix: "other.")
        let named = "settings changed that need a restart"
        await eventually { rig.log.count(named) == 1 }
        let names = rig.log.metadata(of: named).joined()
        #expect(names.contains("kafka.topic_prefix") && names.contains("kafka.group_prefix"))
        #expect(names.contains("batch.records_max") && !names.contains("breaker"))
        #expect(rig.metric("entitlements_settings_restart_needed_state") == 1)
        try await rig.publish([Self.body(second, 1)])
        await eventually { rig.settled(.forwarded) == 1 }
        try rig.rewrite(apps: Self.apps())
        await eventually { rig.metric("entitlements_settings_restart_needed_state") == 0 }
        try await rig.stop()
    }

    @Test func `every problem is named once for each state of the files and each worker`() async throws {
        let first = try Self.first.get()
        let rig = try await VerifyRig(apps: Self.apps(), files: ["root.pem": Self.pem(first)])
        try rig.rewrite(
            apps: { #"[{"bundle_id": "a", "environment": "Sandbox", "roots": ["\#($0)/none"]}]"# },
            extra: #""verify": {"threads": 0}, "breaker": {"refused": 1},"#)
        await eventually { rig.log.count(Self.refused) == 1 }
        let text = rig.log.metadata(of: Self.refused).joined()
        for word in ["apps[0].roots[0]", "verify.threads", "breaker.refused"] {
            #expect(text.contains(word), "\(word): \(text)")
        }
        rig.service.reload()
        await eventually { rig.log.count(Self.refused) == 2 }
        try await rig.publish([Self.body(first, 1)])
        await eventually { rig.settled(.forwarded) == 1 }
        try await rig.stop()
    }
}
