import OpenSSL
import Testing
import Simulation

@testable import AppStore

/// A posted app transaction that breaks one rule of each step, to be repaired step by step.
struct BrokenBody {
    private var isTooLarge = true
    private var isUnrecognized = true
    private var isEnvelopeCut = true
    private var hasFourSegments = true
    private var algorithm = "none"
    private var hasChain = false
    private var certificatesCount = 2
    private var hasGarbageCertificate = true
    private var isRootForeign = true
    private var isLeafSignedByAnother = true
    private var isPayloadCut = true
    private var isLate = true
    private var isLeafCA = true
    private var isLeafRevoked = true
    private var isSignatureFlipped = true
    private var app = AppTransactionFields()
    private var isRootOfAnotherApp = true
    private var isClaimWrong = true

    struct Step: Sendable {
        let reason: RefusalReason
        let mend: @Sendable (inout BrokenBody) -> Void

        init(_ reason: RefusalReason, _ mend: @escaping @Sendable (inout BrokenBody) -> Void) {
            self.reason = reason
            self.mend = mend
        }
    }

    /// The fault of each step and its repair, in the order of the rules.
    static let steps: [Step] = [
        Step(.payloadTooLarge) { $0.isTooLarge = false }, Step(.bodyUnrecognized) { $0.isUnrecognized = false },
        Step(.envelopeMalformed) { $0.isEnvelopeCut = false }, Step(.jwsMalformed) { $0.hasFourSegments = false },
        Step(.algorithmNotAllowed) { $0.algorithm = "ES256" }, Step(.x5cMissing) { $0.hasChain = true },
        Step(.x5cLength) { $0.certificatesCount = 3 }, Step(.certificateMalformed) { $0.hasGarbageCertificate = false },
        Step(.rootUntrusted) { $0.isRootForeign = false }, Step(.chainInvalid) { $0.isLeafSignedByAnother = false },
        Step(.certificatePurpose) { $0.isLeafCA = false }, Step(.signatureInvalid) { $0.isSignatureFlipped = false },
        Step(.payloadMalformed) { $0.isPayloadCut = false }, Step(.certificateNotValidAtSigning) { $0.isLate = false },
        Step(.certificateRevoked) { $0.isLeafRevoked = false },
        Step(.payloadMalformed) { $0.app.overrides["bundleId"] = nil },
        Step(.bundleMismatch) { $0.app.bundleID = Minted.bundleID },
        Step(.appMismatch) {
            // The number counts only if the environment is configured for the app.
            $0.app.appAppleID = Minted.appAppleID
            $0.app.receiptType = "Sandbox"
        }, Step(.environmentMismatch) { $0.app.receiptType = "Production" },
        Step(.rootUntrusted) { $0.isRootOfAnotherApp = false }, Step(.claimMismatch) { $0.isClaimWrong = false },
    ]

    /// Breaks the rules of these steps and no other.
    init(breaking steps: Set<Int>) {
        self.init()
        for (index, step) in Self.steps.enumerated() where !steps.contains(index) { step.mend(&self) }
    }

    init() {
        app.overrides["bundleId"] = "7"
        app.bundleID = "com.example.x"
        app.appAppleID = 1
    }

    func verdict() throws -> RefusalReason? {
        let authority = try CertificateAuthority { (blueprint) throws(KeyError) in
            if isLeafSignedByAnother { blueprint.leafSigner = try .generate(.p384) }
            blueprint.leaf.isCA = isLeafCA
        }
        var chain = authority.chain
        if hasGarbageCertificate { chain[1] = [1, 2, 3] }
        let header =
            hasChain
            ? CertificateAuthority.headerSegment(
                algorithm: algorithm, certificates: Array(chain.prefix(certificatesCount)))
            : Base64Text.url(Array(#"{"alg":"\#(algorithm)"}"#.utf8))
        var token = try authority.sign(payload, headerSegment: header)
        if isSignatureFlipped {
            let last = token.count - 30
            token[last] = token[last] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        }
        if hasFourSegments { token += Array(".AA".utf8) }
        let verifier = try verifier(authority)
        if isLeafRevoked {
            verifier.revocations = RevocationSnapshot(
                isHard: false, statuses: [SHA256.digest(authority.leaf): .revoked(since: 0)])
        }
        let reason = verifier.reason(body(token))
        let again = verifier.reason(body(token))
        #expect(again == reason, "with what is known of the chain")
        return reason
    }

    private func body(_ token: [UInt8]) -> [UInt8] {
        let claimed = isClaimWrong ? "com.example.y" : Minted.bundleID
        let text = String(decoding: token, as: UTF8.self)
        let start = isUnrecognized ? "?" : ""
        let end = isEnvelopeCut ? "" : "}"
        return Array((start + #"{"bundleId":"\#(claimed)","signedAppTransactionInfo":"\#(text)""# + end).utf8)
    }

    private var payload: [UInt8] {
        var app = app
        if isLate { app.receiptCreationDate = (CertificateAuthority.standardValidity.upperBound + 1) * 1000 }
        return isPayloadCut ? Array(app.json.dropLast()) : app.json
    }

    private func verifier(_ authority: CertificateAuthority) throws -> Verifier {
        let other = try Minted.authority.get()
        let limits = VerifierLimits(bodyBytesMax: isTooLarge ? 100 : 1 << 20)
        guard !isRootForeign else { return try Minted.verifier(limits: limits) }
        let apps = [
            try Minted.app(trusting: [isRootOfAnotherApp ? other : authority]),
            try Minted.app(.sandbox, bundleID: "com.example.other", trusting: [authority]),
        ]
        return Verifier(configuration: VerifierConfiguration(apps: apps, limits: limits))
    }
}
