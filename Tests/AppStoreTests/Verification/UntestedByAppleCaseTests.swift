import AppStore
import OpenSSL
import TestSupport
import Testing
import Simulation

/// Cases that none of Apple's four suites tests, each under its name in their overview, with our
/// verdict.
struct UntestedByAppleCaseTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The refusal here.
        ///
        /// `nil` if accepted.
        let ours: RefusalReason?
        let verdicts: @Sendable () throws -> [RefusalReason?]

        init(_ name: String, _ ours: RefusalReason?, _ verdicts: @escaping @Sendable () throws -> [RefusalReason?]) {
            testDescription = name
            self.ours = ours
            self.verdicts = verdicts
        }
    }

    private static func forged(_ forgeries: Forgery...) throws -> [RefusalReason?] {
        try forgeries.map { forgery in
            let token = try Minted.authority.get().forge(TransactionFields().json, forgery)
            return try Minted.verifier().reason(token)
        }
    }

    private static func changed(_ change: (inout AuthorityBlueprint) throws(KeyError) -> Void) throws
        -> [RefusalReason?]
    {
        let authority = try CertificateAuthority(adjusting: change)
        let verifier = try Minted.verifier(trusting: authority)
        return [verifier.reason(try authority.sign(TransactionFields().json))]
    }

    private static func certificates(_ chain: [[UInt8]]) throws -> [RefusalReason?] {
        let header = CertificateAuthority.headerSegment(certificates: chain)
        let authority = try Minted.authority.get()
        let token = try authority.sign(TransactionFields().json, headerSegment: header)
        return [try Minted.verifier().reason(token)]
    }

    static let signatures: [Case] = [
        Case("bit-flipped signature", .signatureInvalid) { try forged(.flippedSignature) },
        Case("flipped payload", .signatureInvalid) { try forged(.flippedPayload) },
        Case("alg none/HS256", .algorithmNotAllowed) { try forged(.algorithmNone, .algorithmHS256) },
        Case("high/zero r or s", .signatureInvalid) { try forged(.highestS, .zeroR) },
        Case("DER instead of raw signature", .jwsMalformed) { try forged(.signatureInDER) },
        Case("63/65-byte signature", .jwsMalformed) { try forged(.shortSignature, .longSignature) },
    ]

    static let chains: [Case] = [
        Case("P-384 leaf key", .certificatePurpose) {
            let authority = try CertificateAuthority { (blueprint) throws(KeyError) in
                blueprint.leafKey = try .generate(.p384)
            }
            let token = AppleLibrary.unsigned(authority.chain, signedAt: Minted.signedSeconds)
            return [try Minted.verifier(trusting: authority).reason(token)]
        },
        Case("x5c of 4", .x5cLength) {
            let authority = try Minted.authority.get()
            return try certificates([authority.leaf, authority.intermediate, authority.root, authority.root])
        },
        Case("swapped leaf/intermediate order", .rootUntrusted) {
            let authority = try Minted.authority.get()
            return try certificates([authority.intermediate, authority.leaf, authority.root])
        },
        Case("self-issued intermediate without CA", .chainInvalid) {
            try changed {
                $0.intermediate.subject = $0.root.subject
                $0.leaf.issuer = $0.root.subject
                $0.intermediate.isCA = false
                $0.intermediate.pathLengthMax = nil
            }
        }, Case("pathlen violation", .chainInvalid) { try changed { $0.root.pathLengthMax = 0 } },
    ]

    static let dates: [Case] = [
        Case("signedDate just outside/inside leaf validity", .certificateNotValidAtSigning) {
            let window = Minted.signedSeconds...Minted.signedSeconds + 10
            let authority = try CertificateAuthority { $0.leaf.validity = window }
            let verifier = try Minted.verifier(trusting: authority)
            func reason(_ seconds: Int64) throws -> RefusalReason? {
                var fields = TransactionFields()
                fields.signedDate = seconds * 1000
                return verifier.reason(try authority.sign(fields.json))
            }
            #expect(try reason(window.lowerBound) == nil && reason(window.upperBound) == nil)
            return [try reason(window.lowerBound - 1), try reason(window.upperBound + 1)]
        },
        Case("signedDate missing", .payloadMalformed) {
            [try Minted.verifier().reason(Minted.transaction { $0.signedDate = nil })]
        },
    ]

    static let contents: [Case] = [
        Case("payload-kind confusion", .payloadMalformed) {
            let verifier = try Minted.verifier()
            return [
                verifier.reason(Body.transaction(try Minted.renewal())),
                verifier.reason(Body.notification(try Minted.transaction())),
            ]
        }, Case("nested JWS", .payloadMalformed) { [try Minted.verifier().reason(Minted.sign(Minted.transaction()))] },
        Case("duplicate JSON keys", .payloadMalformed) {
            let json = TransactionFields().json.dropLast() + Array(#","price":1}"#.utf8)
            return [try Minted.verifier().reason(Minted.sign(Array(json)))]
        },
        Case("huge header", .jwsMalformed) {
            let authority = try Minted.authority.get()
            let header = CertificateAuthority.headerSegment(
                certificates: authority.chain, trailing: #","kid":"\#(String(repeating: "k", count: 20_000))""#)
            let token = try authority.sign(TransactionFields().json, headerSegment: header)
            return [try Minted.verifier().reason(token)]
        },
    ]

    @Test(arguments: signatures + chains + dates + contents)
    func `each case that Apple's tests leave out has our verdict`(item: Case) throws {
        for verdict in try item.verdicts() { #expect(verdict == item.ours) }
    }

    @Test(.needsSharedData) func `real Apple-signed golden tokens are accepted`() throws {
        let verifier = GenuineNotificationTests.verifier()
        #expect(verifier.reason(try GenuineNotificationTests.token()) == nil)
    }
}
