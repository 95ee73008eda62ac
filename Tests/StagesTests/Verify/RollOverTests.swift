import AppStore
import OpenSSL
import Records
import TestSupport
import Testing
import Simulation
import Topology
import VerifyStage
import Worker

/// The drill: Apple's next leaf, its next intermediate and a second root arrive in the middle of
/// traffic, and old and new are valid side by side.
@Suite(.timeLimit(.minutes(10))) struct RollOverTests {
    /// The years in which a certificate signs, as validity in seconds.
    private static func years(_ from: Int, _ to: Int) -> ClosedRange<Int64> {
        Int64(from - 1970) * 31_556_952...Int64(to - 1970) * 31_556_952
    }

    /// A generation of certificates, and dates of its signatures.
    private struct Generation {
        let authority: CertificateAuthority
        let dates: [Int64]
    }

    private static func generations() throws -> [Generation] {
        var first = try AuthorityBlueprint(name: "Apple", validity: years(2014, 2039))
        first.leaf.validity = years(2021, 2023)
        let nextLeaf = try first.withNextLeaf(validity: years(2023, 2025))
        let nextIntermediate = try nextLeaf.withNextIntermediate(
            named: "Apple Worldwide Developer Relations G7", validity: years(2024, 2027))
        var second = try AuthorityBlueprint(name: "Second", validity: years(2025, 2050))
        second.leaf.validity = years(2025, 2028)
        return [
            Generation(
                authority: try CertificateAuthority(first),
                dates: [years(2021, 2023).lowerBound, years(2021, 2023).upperBound]),
            Generation(
                authority: try CertificateAuthority(nextLeaf),
                dates: [years(2023, 2025).lowerBound, years(2023, 2025).upperBound]),
            Generation(
                authority: try CertificateAuthority(nextIntermediate),
                dates: [years(2024, 2027).lowerBound, years(2024, 2027).upperBound]),
            Generation(
                authority: try CertificateAuthority(second),
                dates: [years(2025, 2028).lowerBound, years(2025, 2028).upperBound]),
        ]
    }

    private static func apps(_ folder: String) -> String {
        #"[{"bundle_id": "\#(VerifyRig.bundleID)", "environment": "Production","#
            + #" "app_apple_id": 1234567890, "roots": ["\#(folder)/roots.pem"],"#
            + #" "test_root_in_production": true}]"#
    }

    private static func bodies(_ generation: Generation) throws -> [[UInt8]] {
        try generation.dates.map { try body(generation, signed: $0) }
    }

    private static func body(_ generation: Generation, signed: Int64) throws -> [UInt8] {
        var fields = TransactionFields()
        fields.signedDate = signed * 1_000
        return try generation.authority.sign(fields.json)
    }

    @Test func `old and new certificates are valid side by side, each at its time`() async throws {
        let all = try Self.generations()
        let firstRoot = Array(all[0].authority.rootPEM.utf8)
        let rig = try await VerifyRig(apps: Self.apps, files: ["roots.pem": firstRoot])
        let arrived = "new leaf certificate in use"
        var forwarded = 0
        for known in 1...3 {
            // With each new generation the former ones come again, though long expired.
            let bodies = try all.prefix(known).reversed().flatMap(Self.bodies)
            try await rig.publish(bodies)
            forwarded += bodies.count
            await eventually { rig.settled(.forwarded) == forwarded }
            #expect(rig.log.count(arrived) == known)
        }
        try await rig.publish([Self.body(all[3], signed: all[3].dates[0])])
        await eventually { rig.settled(.deadLettered) == 1 }
        #expect(rig.metric("entitlements_dead_letters_total{reason=\"root_untrusted\"") == 1)

        try rig.replace("roots.pem", firstRoot + Array(all[3].authority.rootPEM.utf8))
        await eventually { rig.log.count("settings reloaded") == 1 }
        let bodies = try all.flatMap(Self.bodies)
        try await rig.publish(bodies)
        forwarded += bodies.count
        await eventually { rig.settled(.forwarded) == forwarded }
        #expect(rig.log.count(arrived) == 4)
        for generation in all {
            let leaf = try Certificate(der: generation.authority.leaf)
            let labels = "{leaf=\"\(leaf.fingerprint.hex)\""
            let count = rig.metric("entitlements_verify_leaf_observations_total\(labels)")
            #expect((count ?? 0) >= 2)
            let end = rig.metric("entitlements_verify_leaf_end_timestamp_seconds\(labels)")
            #expect(end == Double(leaf.validity.upperBound))
        }
        #expect(rig.settled(.deadLettered) == 1)
        try await rig.stop()
    }

    @Test func `no generation signs a second before or after its time`() async throws {
        let all = try Self.generations()
        let roots = [all[0], all[3]].flatMap { Array($0.authority.rootPEM.utf8) }
        let rig = try await VerifyRig(apps: Self.apps, files: ["roots.pem": roots])
        var refused = 0
        for generation in all {
            try await rig.publish([
                Self.body(generation, signed: generation.dates[0] - 1),
                Self.body(generation, signed: generation.dates[1] + 1),
            ])
            refused += 2
        }
        let reason = "entitlements_dead_letters_total{reason=\"certificate_not_valid_at_signing\""
        await eventually { rig.metric(reason) == Double(refused) }
        #expect(rig.settled(.forwarded) == 0)
        try await rig.stop()
    }
}
