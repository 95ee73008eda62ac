import AppStore
import OpenSSL
import Simulation

extension HostileFixture {
    /// Certificates that are made to be costly, in chains that nobody has vouched for.
    ///
    /// A foreign chain is refused by its root. One that shows the genuine root takes a signature to
    /// find out, so it is measured by a genuine chain that is seen for the first time.
    static func costlyTokens(
        _ authority: CertificateAuthority,
        _ blueprint: AuthorityBlueprint
    ) throws -> [HostileBody] {
        let payload = BenchTransaction.payload(0)
        let stranger = try PrivateKey.generate(.p384)
        let foreign = try AuthorityBlueprint(
            name: "Forger's",
            validity: CertificateAuthority.standardValidity
        )
        var bodies: [HostileBody] = []
        for kind in CostlyCertificate.allCases {
            let strange = try CertificateAuthority(foreign.forged(with: kind, signer: stranger))
            let token = try strange.sign(payload)
            let name = "foreign, \(kind.rawValue)"
            bodies.append(HostileBody(name, token, reason(kind, .rootUntrusted), bound: 3))
            let copy = try CertificateAuthority(blueprint.forged(with: kind, signer: stranger))
            bodies.append(
                HostileBody(
                    "genuine root, \(kind.rawValue)",
                    try copy.sign(payload, showingRoot: authority.root),
                    reason(kind, .chainInvalid),
                    by: .newChain
                )
            )
        }
        return bodies + [try endlessHeaders(payload)]
    }

    private static func reason(
        _ kind: CostlyCertificate,
        _ reason: RefusalReason
    ) -> RefusalReason {
        kind.isMalformed ? .certificateMalformed : reason
    }

    /// A foreign chain under another header each time, against whatever remembers headers.
    private static func endlessHeaders(_ payload: [UInt8]) throws -> HostileBody {
        let foreign = try CertificateAuthority(name: "Forger's")
        let bodies = try foreign.signUnderManyHeaders(
            payload,
            showing: [foreign.leaf, foreign.intermediate, foreign.root]
        )
        return HostileBody("a forged chain, new each time", bodies, .rootUntrusted, bound: 3)
    }

    /// Receipts of one purchase whose certificates are costly.
    static func costlyReceipts(
        _ authority: CertificateAuthority,
        _ blueprint: AuthorityBlueprint
    ) throws -> [HostileBody] {
        var fields = receiptFields
        fields.records = Array(fields.records.prefix(1))
        let stranger = try PrivateKey.generate(.rsa(bits: 2048))
        let foreign = try AuthorityBlueprint.receipts(name: "Forger's")
        return try CostlyCertificate.allCases.flatMap { kind in
            let strange = try CertificateAuthority(foreign.forged(with: kind, signer: stranger))
            let copy = try CertificateAuthority(blueprint.forged(with: kind, signer: stranger))
            var form = ReceiptForm()
            form.certificates = [copy.leaf, copy.intermediate, authority.root]
            return [
                HostileBody(
                    "foreign receipt, \(kind.rawValue)",
                    Body.receipt(try strange.receiptText(fields)),
                    reason(kind, .rootUntrusted),
                    by: .smallReceipt,
                    bound: 3
                ),
                HostileBody(
                    "genuine root, receipt, \(kind.rawValue)",
                    Body.receipt(try copy.receiptText(fields, form)),
                    reason(kind, .chainInvalid),
                    by: .smallReceipt,
                    bound: 3
                ),
            ]
        }
    }
}
