import AppStore
import OpenSSL
import Traffic

/// A transaction's JWS that breaks one rule of each step, to be mended step by step.
struct BrokenBody {
    private var hasFourSegments = true
    private var algorithm = "none"
    private var certificatesCount = 2
    private var hasGarbageCertificate = true
    private var isRootForeign = true
    private var isLeafSignedByAnother = true
    private var isPayloadCut = true
    private var isLate = true
    private var isLeafCA = true
    private var isSignatureFlipped = true
    private var app = AppTransactionFields()
    private var isRootOfAnotherApp = true

    /// What each step mends, in the order of the rules.
    static let mends: [@Sendable (inout BrokenBody) -> Void] = [
        { $0.hasFourSegments = false }, { $0.algorithm = "ES256" }, { $0.certificatesCount = 3 },
        { $0.hasGarbageCertificate = false }, { $0.isRootForeign = false },
        { $0.isLeafSignedByAnother = false }, { $0.isPayloadCut = false }, { $0.isLate = false },
        { $0.isLeafCA = false }, { $0.isSignatureFlipped = false },
        { $0.app.overrides["bundleId"] = nil }, { $0.app.bundleID = Minted.bundleID },
        {
            // The number counts only where the environment is configured for the app.
            $0.app.appAppleID = Minted.appAppleID
            $0.app.receiptType = "Sandbox"
        },
        { $0.app.receiptType = "Production" },
        { $0.isRootOfAnotherApp = false },
    ]

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
        var chain = [authority.leaf, authority.intermediate, authority.root]
        if hasGarbageCertificate { chain[1] = [1, 2, 3] }
        let header = CertificateAuthority.headerSegment(
            algorithm: algorithm,
            certificates: Array(chain.prefix(certificatesCount))
        )
        var body = try authority.sign(payload, headerSegment: header)
        if isSignatureFlipped {
            let last = body.count - 30
            body[last] = body[last] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        }
        if hasFourSegments { body += Array(".AA".utf8) }
        return try verifier(authority).reason(body)
    }

    private var payload: [UInt8] {
        var app = app
        if isLate {
            app.receiptCreationDate = (CertificateAuthority.standardValidity.upperBound + 1) * 1000
        }
        return isPayloadCut ? Array(app.json.dropLast()) : app.json
    }

    private func verifier(_ authority: CertificateAuthority) throws -> Verifier {
        let other = try Minted.authority.get()
        guard !isRootForeign else { return try Minted.verifier() }
        let apps = [
            try Minted.app(trusting: [isRootOfAnotherApp ? other : authority]),
            try Minted.app(.sandbox, bundleID: "com.example.other", trusting: [authority]),
        ]
        return Verifier(configuration: VerifierConfiguration(apps: apps))
    }
}
