import AppStore
import OpenSSL
import Traffic

/// A posted receipt that breaks one rule of each step, to be mended step by step.
struct BrokenReceipt {
    private var isTooLarge = true
    private var isTextCut = true
    private var hasTwoSigners = true
    private var hasForeignDigest = true
    private var hasOldRoot = true
    private var isRootForeign = true
    private var isLeafSignedByAnother = true
    private var isDateMissing = true
    private var isLate = true
    private var isLeafCA = true
    private var isSignedByAnother = true
    private var isRecordIncomplete = true
    private var isOfAnotherBundle = true
    private var isOfAnotherNumber = true
    private var isOfAnotherEnvironment = true
    private var isRootOfAnotherApp = true
    private var isClaimWrong = true

    /// What each step mends, in the order of the rules.
    static let mends: [@Sendable (inout BrokenReceipt) -> Void] = [
        { $0.isTooLarge = false }, { $0.isTextCut = false }, { $0.hasTwoSigners = false },
        { $0.hasForeignDigest = false }, { $0.hasOldRoot = false }, { $0.isRootForeign = false },
        { $0.isLeafSignedByAnother = false }, { $0.isDateMissing = false }, { $0.isLate = false },
        { $0.isLeafCA = false }, { $0.isSignedByAnother = false },
        { $0.isRecordIncomplete = false }, { $0.isOfAnotherBundle = false },
        { $0.isOfAnotherNumber = false }, { $0.isOfAnotherEnvironment = false },
        { $0.isRootOfAnotherApp = false }, { $0.isClaimWrong = false },
    ]

    private static let otherKey = Result { try PrivateKey.generate(.rsa(bits: 2048)) }

    func verdict() throws -> RefusalReason? {
        let other = try Self.otherKey.get()
        let authority = try MintedReceipts.authority { blueprint in
            if isLeafSignedByAnother { blueprint.leafSigner = other }
            blueprint.leaf.isCA = isLeafCA
            if hasOldRoot { blueprint.root.version = 1 }
        }
        var form = ReceiptForm()
        form.signersCount = hasTwoSigners ? 2 : 1
        form.digestAlgorithm = hasForeignDigest ? "2.16.840.1.101.3.4.2.3" : nil
        form.signerKey = isSignedByAnother ? other : nil
        var text = try authority.receiptText(fields, form)
        if isTextCut { text.removeLast() }
        let claims: KeyValuePairs = ["transactionID": isClaimWrong ? #""7""# : "null"]
        return try verifier(authority).reason(Body.receipt(text, members: claims))
    }

    private var fields: ReceiptFields {
        MintedReceipts.fields {
            if isLate {
                $0.creationDate = (CertificateAuthority.standardValidity.upperBound + 1) * 1000
            }
            if isDateMissing { $0.creationDate = nil }
            if isRecordIncomplete { $0.records[0].productID = nil }
            if isOfAnotherBundle { $0.bundleID = "com.example.x" }
            if isOfAnotherNumber { $0.appAppleID = 1 }
            if isOfAnotherEnvironment && !isOfAnotherNumber { $0.receiptType = "Xcode" }
        }
    }

    private func verifier(_ authority: CertificateAuthority) throws -> Verifier {
        let limits = VerifierLimits(bodyBytesMax: isTooLarge ? 1_000 : 1 << 20)
        let foreign = try Minted.authority.get()
        // A root of an old version is never configured, so it stays foreign until it is mended.
        let isForeign = isRootForeign || hasOldRoot
        let apps =
            isForeign
            ? [try Minted.app(trusting: [foreign])]
            : [
                try Minted.app(trusting: [isRootOfAnotherApp ? foreign : authority]),
                try Minted.app(.sandbox, bundleID: "com.example.other", trusting: [authority]),
            ]
        return Verifier(configuration: VerifierConfiguration(apps: apps, limits: limits))
    }
}
