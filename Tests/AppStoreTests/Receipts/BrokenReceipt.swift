import OpenSSL
import Testing
import Simulation

@testable import AppStore

/// A posted receipt that breaks one rule of each step, to be repaired step by step.
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
    private var isLeafRevoked = true
    private var isSignedByAnother = true
    private var isRecordIncomplete = true
    private var isOfAnotherBundle = true
    private var isOfAnotherNumber = true
    private var isOfAnotherEnvironment = true
    private var isRootOfAnotherApp = true
    private var isClaimWrong = true

    struct Step: Sendable {
        let reason: RefusalReason
        let mend: @Sendable (inout BrokenReceipt) -> Void

        init(_ reason: RefusalReason, _ mend: @escaping @Sendable (inout BrokenReceipt) -> Void) {
            self.reason = reason
            self.mend = mend
        }
    }

    /// The fault of each step and its repair, in the order of the rules.
    static let steps: [Step] = [
        Step(.payloadTooLarge) { $0.isTooLarge = false }, Step(.receiptMalformed) { $0.isTextCut = false },
        Step(.receiptMalformed) { $0.hasTwoSigners = false },
        Step(.algorithmNotAllowed) { $0.hasForeignDigest = false },
        Step(.certificateMalformed) { $0.hasOldRoot = false }, Step(.rootUntrusted) { $0.isRootForeign = false },
        Step(.chainInvalid) { $0.isLeafSignedByAnother = false }, Step(.certificatePurpose) { $0.isLeafCA = false },
        Step(.receiptSignatureInvalid) { $0.isSignedByAnother = false },
        Step(.receiptMalformed) { $0.isDateMissing = false }, Step(.certificateNotValidAtSigning) { $0.isLate = false },
        Step(.certificateRevoked) { $0.isLeafRevoked = false },
        Step(.receiptMalformed) { $0.isRecordIncomplete = false },
        Step(.bundleMismatch) { $0.isOfAnotherBundle = false }, Step(.appMismatch) { $0.isOfAnotherNumber = false },
        Step(.environmentMismatch) { $0.isOfAnotherEnvironment = false },
        Step(.rootUntrusted) { $0.isRootOfAnotherApp = false }, Step(.claimMismatch) { $0.isClaimWrong = false },
    ]

    /// Breaks the rules of these steps and no other.
    init(breaking steps: Set<Int>) {
        for (index, step) in Self.steps.enumerated() where !steps.contains(index) { step.mend(&self) }
    }

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
        let verifier = try verifier(authority)
        if isLeafRevoked {
            verifier.revocations = RevocationSnapshot(
                isHard: false, statuses: [SHA256.digest(authority.leaf): .revoked(since: 0)])
        }
        let body = Body.receipt(text, members: claims)
        let reason = verifier.reason(body)
        #expect(verifier.reason(body) == reason, "with what is known of the chain")
        return reason
    }

    private var fields: ReceiptFields {
        MintedReceipts.fields {
            if isLate { $0.creationDate = (CertificateAuthority.standardValidity.upperBound + 1) * 1000 }
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
        // A root of an old version is never configured, so it stays foreign until it is repaired.
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
