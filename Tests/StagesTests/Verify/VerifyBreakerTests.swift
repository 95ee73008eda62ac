import AppStore
import Records
import Simulation
import TestSupport
import Testing
import VerifyStage
import Topology
import Worker

/// The breaker against wrong settings, with real signatures.
@Suite(.timeLimit(.minutes(10))) struct VerifyBreakerTests {
    private static let authority = Result { try CertificateAuthority(name: "Breaker") }

    private static func rig(refusedMax: Int) async throws -> VerifyRig {
        let authority = try authority.get()
        return try await VerifyRig(
            apps: { folder in
                #"[{"bundle_id": "\#(VerifyRig.bundleID)", "environment": "Production","#
                    + #" "app_apple_id": 1234567890, "roots": ["\#(folder)/root.pem"],"#
                    + #" "test_root_in_production": true}]"#
            }, extra: #""breaker": {"refused_max": \#(refusedMax)},"#,
            files: ["root.pem": Array(authority.rootPEM.utf8)])
    }

    private static func token(_ id: Int, bundleID: String) throws -> [UInt8] {
        var fields = TransactionFields()
        fields.transactionID = "\(id)"
        fields.bundleID = bundleID
        return try authority.get().sign(fields.json)
    }

    @Test func `one foreign token counts once, in any company`() async throws {
        let rig = try await Self.rig(refusedMax: 5)
        let token = String(decoding: try Self.token(1, bundleID: "com.example.foreign"), as: UTF8.self)
        try await rig.publish((1...200).map { Array(#"{"signedTransaction": "\#(token)", "n": \#($0)}"#.utf8) })
        try await rig.publish([try Self.token(2, bundleID: VerifyRig.bundleID)])
        await eventually { rig.settled(.forwarded) == 1 && rig.settled(.deadLettered) == 200 }
        #expect(rig.service.health.reason(.breaker) == nil)
        try await rig.stop()
    }
}
