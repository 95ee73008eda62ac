import AppStore
import Records
import TestSupport
import Testing
import Simulation
import Topology
import VerifyStage
import Worker

/// `verify-worker` with a real responder beside it: present, absent, and with bad news.
@Suite(.timeLimit(.minutes(10)), .enabled(if: OCSPServer.isAvailable(), "needs the program openssl"))
struct RevocationStageTests {
    private static func apps(_ folder: String) -> String {
        #"[{"bundle_id": "\#(VerifyRig.bundleID)", "environment": "Production","#
            + #" "app_apple_id": 1234567890, "roots": ["\#(folder)/root.pem"],"#
            + #" "test_root_in_production": true}]"#
    }

    private static func settings(_ mode: RevocationPolicy.Mode) -> String {
        #""verify": {"revocation": "\#(mode.rawValue)", "revocation_interval": "100ms","#
            + #" "revocation_deadline": "1s"},"#
    }

    private static func rig(_ mine: RevocableAuthority, _ mode: RevocationPolicy.Mode) async throws -> VerifyRig {
        try await VerifyRig(apps: apps, extra: settings(mode), files: ["root.pem": Array(mine.authority.rootPEM.utf8)])
    }

    private static func body(_ mine: RevocableAuthority, signed: Int64) throws -> [UInt8] {
        var fields = TransactionFields()
        fields.signedDate = signed * 1_000
        return try mine.authority.sign(fields.json)
    }

    @Test func `soft: unknown passes and is counted, revoked is refused from then on`() async throws {
        let mine = try RevocableAuthority()
        let rig = try await Self.rig(mine, .soft)
        try await rig.publish([Self.body(mine, signed: 1_700_000_100)])
        await eventually { rig.settled(.forwarded) == 1 }
        #expect(rig.metric("entitlements_verify_revocation_unknown_bodies_total") == 1)
        #expect(rig.service.health.isReady)

        let root = try await mine.intermediateResponder()
        let leaf = try await mine.leafResponder(.revoked(since: 1_700_000_000))
        let revoked = "certificate revoked, refusing what it signed since"
        // A batch makes the worker ask its responders.
        await eventually(every: .milliseconds(50)) {
            try? await rig.publish([Self.body(mine, signed: 1_699_999_999)])
            return rig.log.count(revoked) == 1
        }
        let before = rig.settled(.deadLettered)
        #expect(before == 0)
        try await rig.publish([Self.body(mine, signed: 1_700_000_000), Self.body(mine, signed: 1_699_999_999)])
        let letters = "entitlements_dead_letters_total{reason=\"certificate_revoked\""
        await eventually { rig.metric(letters) == 1 }
        try await rig.stop()
        try await leaf.stop()
        try await root.stop()
    }

    @Test func `hard: records wait while the responder is away, none is refused or lost`() async throws {
        let mine = try RevocableAuthority()
        let rig = try await Self.rig(mine, .hard)
        try await rig.publish((0..<20).map { try Self.body(mine, signed: 1_700_000_000 + $0) })
        let waiting = "dependency unavailable, retrying"
        await eventually { rig.log.count(waiting) == 1 }
        await eventually { rig.service.health.reason(.revocation)?.contains("not known whether revoked") == true }
        #expect(!rig.service.health.isReady)
        #expect(rig.settled(.forwarded) == 0)
        let unlearned = "certificate status unavailable, retrying"
        await eventually { rig.log.count(unlearned) == 2 }

        let root = try await mine.intermediateResponder()
        let leaf = try await mine.leafResponder()
        await eventually { rig.settled(.forwarded) == 20 }
        #expect(rig.service.health.isReady)
        #expect(rig.settled(.deadLettered) == 0)
        #expect(rig.metric("entitlements_verify_revocation_certificates{status=\"good\"") == 2)
        try await rig.stop()
        try await leaf.stop()
        try await root.stop()
    }

    @Test(arguments: [ScriptedServer.Script.silence, .bytes([]), .bytes(Array("HTTP/1.0 200 OK\r\n\r\ngarbage".utf8))])
    func `hard: records wait while answers are nonsense, until no responder is asked any more`(
        script: ScriptedServer.Script
    ) async throws {
        let server = try ScriptedServer(script)
        let mine = try RevocableAuthority(port: server.port)
        let rig = try await Self.rig(mine, .hard)
        try await rig.publish([Self.body(mine, signed: 1_700_000_000)])
        await eventually { rig.service.health.reason(.revocation)?.contains("unanswered") == true }
        #expect(rig.settled(.forwarded) == 0)
        #expect(rig.settled(.deadLettered) == 0)
        try rig.rewrite(apps: Self.apps, extra: Self.settings(.off))
        await eventually { rig.settled(.forwarded) == 1 }
        await eventually { rig.service.health.isReady }
        try await rig.stop()
        server.stop()
    }

    @Test func `no responder is asked at an address that a forgery names`() async throws {
        let trap = try ScriptedServer(.silence)
        let forger = try RevocableAuthority(port: trap.port)
        let mine = try RevocableAuthority()
        let rig = try await Self.rig(mine, .soft)
        let dressed = CertificateAuthority.headerSegment(certificates: [
            forger.authority.leaf, forger.authority.intermediate, mine.authority.root,
        ])
        let payload = TransactionFields().json
        try await rig.publish([forger.authority.sign(payload), forger.authority.sign(payload, headerSegment: dressed)])
        await eventually { rig.settled(.deadLettered) == 2 }
        // The good one is asked about at its own address, where nothing listens.
        let unlearned = "certificate status unavailable, retrying"
        await eventually(every: .milliseconds(50)) {
            try? await rig.publish([Self.body(mine, signed: 1_700_000_000)])
            return rig.log.count(unlearned) == 2
        }
        #expect(trap.connections == 0)
        #expect(rig.metric("entitlements_verify_revocation_certificates{status=\"unknown\"") == 2)
        try await rig.stop()
        trap.stop()
    }
}
