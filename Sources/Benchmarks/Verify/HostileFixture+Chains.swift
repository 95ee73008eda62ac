import AppStore
import OpenSSL
import Simulation

extension CertificateAuthority {
    /// Whoever copies the intermediate and the root, and signs a leaf that names them.
    ///
    /// - Parameter blueprint: of this authority.
    func leafForger(
        _ blueprint: AuthorityBlueprint
    ) throws -> (forger: CertificateAuthority, headerSegment: [UInt8]) {
        var forged = blueprint
        forged.leafSigner = try .generate(.p384)
        let forger = try CertificateAuthority(forged)
        let certificates = [forger.leaf, intermediate, root]
        return (forger, Self.headerSegment(certificates: certificates))
    }

    /// Signs below this intermediate, and shows whatever root is given.
    func sign(_ payload: [UInt8], showingRoot root: [UInt8]) throws -> [UInt8] {
        let certificates = [leaf, intermediate, root]
        return try sign(
            payload,
            headerSegment: Self.headerSegment(certificates: certificates)
        )
    }

    /// Signs under a header that is another each time, and shows the same certificates in all.
    func signUnderManyHeaders(
        _ payload: [UInt8],
        showing certificates: [[UInt8]]
    ) throws -> [[UInt8]] {
        try (0..<64).map { number in
            let header = Self.headerSegment(
                certificates: certificates,
                trailing: ",\"kid\":\"\(number)\""
            )
            return try sign(payload, headerSegment: header)
        }
    }
}

extension HostileFixture {
    /// Forged below the genuine root: only a signature of a certificate tells them apart, so that
    /// they are measured by genuine chains of which as much is known.
    static func forgedChains(
        _ authority: CertificateAuthority,
        _ blueprint: AuthorityBlueprint
    ) throws -> [HostileBody] {
        let payload = BenchTransaction.payload(0)
        let (leafForger, header) = try authority.leafForger(blueprint)
        var forgedIntermediate = blueprint
        forgedIntermediate.intermediateSigner = try .generate(.p384)
        let forger = try CertificateAuthority(forgedIntermediate)
        return [
            HostileBody(
                "a forged leaf",
                try leafForger.sign(payload, headerSegment: header),
                .chainInvalid,
                by: .newLeaf
            ),
            HostileBody(
                "a forged intermediate",
                try forger.sign(payload, showingRoot: authority.root),
                .chainInvalid,
                by: .newChain
            ),
            try manyIntermediates(authority, blueprint, payload),
            try otherHeaders(authority, payload),
        ]
    }

    /// Forged leaves below more intermediates than are remembered, all signed by the root.
    private static func manyIntermediates(
        _ authority: CertificateAuthority,
        _ blueprint: AuthorityBlueprint,
        _ payload: [UInt8]
    ) throws -> HostileBody {
        let count = VerifierLimits.standard.intermediatesKnownMax + 1
        let bodies = try (0..<count).map { number in
            var next = try blueprint.withNextIntermediate(
                named: "Good Worldwide Developer Relations G\(number)",
                validity: CertificateAuthority.standardValidity
            )
            next.leafSigner = try .generate(.p384)
            return try CertificateAuthority(next).sign(payload, showingRoot: authority.root)
        }
        return HostileBody(
            "forged leaves of \(count) intermediates",
            bodies,
            .chainInvalid,
            by: .newChain,
            signaturesMax: 2
        )
    }

    /// The genuine chain under another header each time, and the signature somebody else's.
    private static func otherHeaders(
        _ authority: CertificateAuthority,
        _ payload: [UInt8]
    ) throws -> HostileBody {
        let bodies = try CertificateAuthority(name: "Good").signUnderManyHeaders(
            payload,
            showing: [authority.leaf, authority.intermediate, authority.root]
        )
        return HostileBody(
            "the genuine chain, its header new each time",
            bodies,
            .signatureInvalid,
            by: .newLeaf
        )
    }
}
