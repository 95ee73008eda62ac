import AppStore
import OpenSSL
import Testing
import Simulation

/// Certificates that are costly to read, in chains without a trusted root.
///
/// `bench verify` measures their cost.
struct CostlyCertificateTests {
    @Test(arguments: CostlyCertificate.allCases) func `a certificate made to be costly is refused for its form`(
        kind: CostlyCertificate
    ) throws {
        let blueprint = try AuthorityBlueprint(name: "Trusted", validity: CertificateAuthority.standardValidity)
        let authority = try CertificateAuthority(blueprint)
        let verifier = try Minted.verifier(trusting: authority)
        let stranger = try PrivateKey.generate(.p384)
        let forged = try CertificateAuthority(blueprint.forged(with: kind, signer: stranger))
        let payload = TransactionFields().json
        #expect(forged.intermediate.count <= 8 << 10)
        let isMalformed = kind.isMalformed
        #expect(verifier.reason(try forged.sign(payload)) == (isMalformed ? .certificateMalformed : .chainInvalid))
        let foreign = try Minted.verifier(trusting: CertificateAuthority(name: "Another"))
        #expect(foreign.reason(try forged.sign(payload)) == (isMalformed ? .certificateMalformed : .rootUntrusted))
    }

    @Test(arguments: CostlyCertificate.allCases) func `a receipt with a costly certificate is refused likewise`(
        kind: CostlyCertificate
    ) throws {
        let blueprint = try MintedReceipts.blueprint.get()
        let stranger = try PrivateKey.generate(.rsa(bits: 2048))
        let forged = try CertificateAuthority(blueprint.forged(with: kind, signer: stranger))
        let text = try forged.receiptText(MintedReceipts.fields())
        let isMalformed = kind.isMalformed
        let reason = try MintedReceipts.verifier().reason(text)
        #expect(reason == (isMalformed ? .certificateMalformed : .chainInvalid))
        let foreign = try Minted.verifier().reason(text)
        #expect(foreign == (isMalformed ? .certificateMalformed : .rootUntrusted))
    }

    /// Elements in the value of an extension count too, in any encoding.
    @Test func `a certificate has a bounded number of elements`() throws {
        let name: [UInt8] = [0x82, 0x01, 0x61]
        for (count, isAllowed) in [(100, true), (108, true), (140, false)] {
            let names = [UInt8]([[UInt8]](repeating: name, count: count).joined())
            for value in [DER.sequence([names]), [0x30, 0x80] + names + [0, 0]] {
                let authority = try CertificateAuthority {
                    $0.leaf.extensions.append(.init(oid: "2.5.29.17", value: value))
                }
                let verifier = try Minted.verifier(trusting: authority)
                let refusal = verifier.reason(try authority.sign(TransactionFields().json))
                #expect(refusal == (isAllowed ? nil : .certificateMalformed), "\(count)")
            }
        }
    }
}
