import AppStore
import OpenSSL
import Simulation

@testable import Benchmarks

extension CertificateAuthority {
    /// Signs below this intermediate, and shows whatever root is given.
    func sign(_ payload: [UInt8], showingRoot root: [UInt8]) throws -> [UInt8] {
        let certificates = [leaf, intermediate, root]
        return try sign(payload, headerSegment: Self.headerSegment(certificates: certificates))
    }

    /// Signs under a header that is another each time, and shows the same certificates in all.
    func signUnderManyHeaders(_ payload: [UInt8], showing certificates: [[UInt8]]) throws -> [[UInt8]] {
        try (0..<64).map { number in
            let header = Self.headerSegment(certificates: certificates, trailing: ",\"kid\":\"\(number)\"")
            return try sign(payload, headerSegment: header)
        }
    }
}

extension HostileFixture {
    /// Chains forged below the genuine root.
    ///
    /// Only the signature of a certificate distinguishes them from genuine chains, so each is
    /// compared with a genuine chain of which as much is known.
    static func forgedChains(_ authority: CertificateAuthority, _ blueprint: AuthorityBlueprint) throws -> [HostileCase]
    {
        let payload = BenchTransaction.payload(0)
        let (leafForger, header) = try authority.leafForger(blueprint)
        var forgedIntermediate = blueprint
        forgedIntermediate.intermediateSigner = try .generate(.p384)
        let forger = try CertificateAuthority(forgedIntermediate)
        let forgedLeaf = try leafForger.sign(payload, headerSegment: header)
        let forgedChain = try forger.sign(payload, showingRoot: authority.root)
        return [
            HostileCase("a forged leaf", [forgedLeaf], .chainInvalid, by: .newLeaf),
            HostileCase("a forged intermediate", [forgedChain], .chainInvalid, by: .newChain),
            try manyIntermediates(authority, blueprint, payload), try otherHeaders(authority, payload),
        ]
    }

    /// Forged leaves below more intermediates than are remembered, all signed by the root.
    private static func manyIntermediates(
        _ authority: CertificateAuthority, _ blueprint: AuthorityBlueprint, _ payload: [UInt8]
    ) throws -> HostileCase {
        let count = VerifierLimits.standard.intermediatesKnownMax + 1
        let bodies = try (0..<count).map { number in
            var next = try blueprint.withNextIntermediate(
                named: "Good Worldwide Developer Relations G\(number)", validity: CertificateAuthority.standardValidity)
            next.leafSigner = try .generate(.p384)
            return try CertificateAuthority(next).sign(payload, showingRoot: authority.root)
        }
        return HostileCase(
            "forged leaves of \(count) intermediates", bodies, .chainInvalid, by: .newChain, signaturesMax: 2)
    }

    /// The genuine chain under another header each time, and the signature of another key.
    private static func otherHeaders(_ authority: CertificateAuthority, _ payload: [UInt8]) throws -> HostileCase {
        let bodies = try CertificateAuthority(name: "Good").signUnderManyHeaders(payload, showing: authority.chain)
        return HostileCase("the genuine chain, its header new each time", bodies, .signatureInvalid, by: .newLeaf)
    }
}

extension HostileFixture {
    /// Certificates that are made to be costly, in chains that nobody has vouched for.
    ///
    /// A foreign chain is refused by its root. One that shows the genuine root takes a signature to
    /// find out, so it is measured by a genuine chain that is seen for the first time.
    static func costlyTokens(_ authority: CertificateAuthority, _ blueprint: AuthorityBlueprint) throws -> [HostileCase]
    {
        let payload = BenchTransaction.payload(0)
        let stranger = try PrivateKey.generate(.p384)
        let foreign = try AuthorityBlueprint(name: "Forger's")
        var bodies: [HostileCase] = []
        for kind in CostlyCertificate.allCases {
            let strange = try CertificateAuthority(foreign.forged(with: kind, signer: stranger))
            let token = try strange.sign(payload)
            let copy = try CertificateAuthority(blueprint.forged(with: kind, signer: stranger))
            let copied = try copy.sign(payload, showingRoot: authority.root)
            let names = ("foreign, \(kind.rawValue)", "genuine root, \(kind.rawValue)")
            let reasons = (reason(kind, .rootUntrusted), reason(kind, .chainInvalid))
            bodies += [
                HostileCase(names.0, [token], reasons.0), HostileCase(names.1, [copied], reasons.1, by: .newChain),
            ]
        }
        return bodies + [try endlessHeaders(payload)]
    }

    private static func reason(_ kind: CostlyCertificate, _ reason: RefusalReason) -> RefusalReason {
        kind.isMalformed ? .certificateMalformed : reason
    }

    /// A foreign chain under another header each time, against whatever remembers headers.
    private static func endlessHeaders(_ payload: [UInt8]) throws -> HostileCase {
        let foreign = try CertificateAuthority(name: "Forger's")
        let bodies = try foreign.signUnderManyHeaders(payload, showing: foreign.chain)
        return HostileCase("a forged chain, new each time", bodies, .rootUntrusted)
    }

    /// Receipts of one purchase whose certificates are costly.
    static func costlyReceipts(_ authority: CertificateAuthority, _ blueprint: AuthorityBlueprint) throws
        -> [HostileCase]
    {
        var fields = receiptFields
        fields.records = Array(fields.records.prefix(1))
        let stranger = try PrivateKey.generate(.rsa(bits: 2048))
        let foreign = try AuthorityBlueprint.receipts(name: "Forger's")
        let rows = try CostlyCertificate.allCases.flatMap { kind in
            let strange = try CertificateAuthority(foreign.forged(with: kind, signer: stranger))
            let copy = try CertificateAuthority(blueprint.forged(with: kind, signer: stranger))
            var form = ReceiptForm()
            form.certificates = [copy.leaf, copy.intermediate, authority.root]
            return [
                (
                    "foreign receipt, \(kind.rawValue)", Body.receipt(try strange.receiptText(fields)),
                    reason(kind, .rootUntrusted)
                ),
                (
                    "genuine root, receipt, \(kind.rawValue)", Body.receipt(try copy.receiptText(fields, form)),
                    reason(kind, .chainInvalid)
                ),
            ]
        }
        return HostileCase.all(by: .smallReceipt, rows)
    }
}
