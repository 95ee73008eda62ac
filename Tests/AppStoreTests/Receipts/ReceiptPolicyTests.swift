import OpenSSL
import Testing
import Simulation

@testable import AppStore

/// The rules for a receipt's signer, date and app.
struct ReceiptPolicyTests {
    struct Defect: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let reason: RefusalReason?
        let change: @Sendable (inout AuthorityBlueprint) throws -> Void

        init(
            _ name: String, _ reason: RefusalReason?,
            _ change: @escaping @Sendable (inout AuthorityBlueprint) throws -> Void
        ) {
            testDescription = name
            self.reason = reason
            self.change = change
        }
    }

    static let defects = [
        Defect("none", nil) { _ in },
        Defect("SHA-1 below the root, as until 2023", nil) {
            $0.leaf.signatureDigest = .sha1
            $0.intermediate.signatureDigest = .sha1
        }, Defect("MD5 on the leaf", .chainInvalid) { $0.leaf.signatureDigest = .md5 },
        Defect("leaf signed by another", .chainInvalid) { $0.leafSigner = try .generate(.rsa(bits: 2048)) },
        Defect("intermediate signed by another", .chainInvalid) {
            $0.intermediateSigner = try .generate(.rsa(bits: 2048))
        }, Defect("intermediate is no CA", .chainInvalid) { $0.intermediate.isCA = false },
        Defect("intermediate may not sign certificates", .chainInvalid) {
            $0.intermediate.keyUsage = .digitalSignature
        },
        Defect("intermediate with a small key", .chainInvalid) {
            $0.intermediateKey = try .generate(.rsa(bits: 1024))
            $0.intermediate.subjectKeyIdentifier = nil
            $0.leaf.authorityKeyIdentifier = nil
        }, Defect("root allows no intermediate", .chainInvalid) { $0.root.pathLengthMax = 0 },
        Defect("unknown critical extension", .chainInvalid) {
            $0.leaf.extensions.append(.init(oid: "1.2.3.4", isCritical: true))
        }, Defect("leaf without its OID", .certificatePurpose) { $0.leaf.extensions.removeFirst() },
        Defect("intermediate without its OID", .certificatePurpose) { $0.intermediate.extensions.removeFirst() },
        Defect("leaf is a CA", .certificatePurpose) { $0.leaf.isCA = true },
        Defect("leaf may not sign", .certificatePurpose) { $0.leaf.keyUsage = .keyEncipherment },
        Defect("leaf with a small key", .certificatePurpose) { $0.leafKey = try .generate(.rsa(bits: 1024)) },
    ]

    @Test(arguments: defects) func `a chain with one defect is refused for it`(defect: Defect) throws {
        let authority = try MintedReceipts.authority(defect.change)
        let verifier = try MintedReceipts.verifier(trusting: authority)
        let refusal = verifier.reason(try authority.receiptText(MintedReceipts.fields()))
        #expect(refusal == defect.reason)
    }

    @Test func `a foreign root, and one that is not configured, are refused`() throws {
        let foreign = try CertificateAuthority(.receipts(name: "Foreign"))
        let text = try foreign.receiptText(MintedReceipts.fields())
        #expect(try MintedReceipts.verifier().reason(text) == .rootUntrusted)
        let apple = ConfiguredApp(
            bundleID: Identifier(Minted.bundleID), environment: .production, appAppleID: Minted.appAppleID)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [apple]))
        #expect(verifier.reason(text) == .rootUntrusted)
        #expect(verifier.reason(try MintedReceipts.text()) == .rootUntrusted)
    }

    @Test func `a receipt's root vouches for its own app alone`() throws {
        let other = try CertificateAuthority(.receipts(name: "Other"))
        let apps = [
            try Minted.app(trusting: [MintedReceipts.authority.get()]),
            try Minted.app(.sandbox, bundleID: "com.example.other", trusting: [other]),
        ]
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        #expect(verifier.reason(try other.receiptText(MintedReceipts.fields())) == .rootUntrusted)
        #expect(verifier.reason(try MintedReceipts.text()) == nil)
    }

    @Test func `the certificates were valid at the creation date, both ends included`() throws {
        let seconds = Minted.signedSeconds
        for (validity, reason) in [
            (seconds...seconds, nil), (seconds + 1...seconds + 9, RefusalReason.certificateNotValidAtSigning),
            (seconds - 9...seconds - 1, .certificateNotValidAtSigning),
        ] {
            for part in [\AuthorityBlueprint.leaf, \.intermediate, \.root] {
                let authority = try MintedReceipts.authority { $0[keyPath: part].validity = validity }
                let verifier = try MintedReceipts.verifier(trusting: authority)
                let text = try authority.receiptText(MintedReceipts.fields())
                #expect(verifier.reason(text) == reason)
            }
        }
    }

    @Test func `a malformed certificate is reported, with those before it`() throws {
        let authority = try MintedReceipts.authority.get()
        let certificates = [authority.leaf, DER.sequence([DER.integer(1)]), authority.root]
        let text = try MintedReceipts.text { $0.certificates = certificates }
        let malformed = try MintedReceipts.verifier().refusal(text)
        #expect(malformed.reason == .certificateMalformed && malformed.chain.count == 1)
        var old = try MintedReceipts.blueprint.get()
        old.root.version = 1
        let aged = try CertificateAuthority(old)
        let refusal = try MintedReceipts.verifier(trusting: authority).refusal(
            aged.receiptText(MintedReceipts.fields()))
        #expect(refusal.reason == .certificateMalformed && refusal.chain.count == 2)
    }

    @Test func `a large certificate is refused before it is parsed`() throws {
        let text = try MintedReceipts.text()
        let verifier = try MintedReceipts.verifier(limits: VerifierLimits(certificateBytesMax: 1_024))
        #expect(verifier.reason(text) == .certificateMalformed)
    }

    @Test(arguments: [
        ("Production", Environment.production), ("ProductionVPP", .production), ("ProductionSandbox", .sandbox),
        ("ProductionVPPSandbox", .sandbox),
    ]) func `the receipt's type is its environment`(type: String, environment: Environment) throws {
        let items = try MintedReceipts.items(MintedReceipts.fields { $0.receiptType = type })
        #expect(items.map(\.environment) == [environment])
        #expect(items[0].transaction?.fields.environment?.string == environment.rawValue)
    }

    @Test(arguments: ["Xcode", "Sandbox", "production", "", nil])
    func `an unknown type, and one that is not configured, are refused`(type: String?) throws {
        let fields = MintedReceipts.fields { $0.receiptType = type }
        #expect(try MintedReceipts.reason(fields) == .environmentMismatch)
    }

    @Test func `another bundle is refused, and so is an absent one`() throws {
        for bundleID in ["com.example.x", nil] {
            let fields = MintedReceipts.fields { $0.bundleID = bundleID }
            #expect(try MintedReceipts.reason(fields) == .bundleMismatch)
        }
    }

    @Test func `the app's number counts in Production unless it is zero`() throws {
        for (type, number, reason) in [
            ("Production", 7, RefusalReason.appMismatch), ("Production", 0, nil), ("Production", nil, nil),
            ("ProductionSandbox", 7, nil),
        ] as [(String, Int?, RefusalReason?)] {
            let fields = MintedReceipts.fields {
                $0.receiptType = type
                $0.appAppleID = number
            }
            #expect(try MintedReceipts.reason(fields) == reason, "\(type), \(number ?? -1)")
        }
    }

    @Test func `a receipt needs a creation date`() throws {
        #expect(try MintedReceipts.reason(MintedReceipts.fields { $0.creationDate = nil }) == .receiptMalformed)
        for (date, reason) in [
            ("", RefusalReason.receiptMalformed), ("2026-01-01", .receiptMalformed), ("2026-01-01T00:00:01Z", nil),
            ("2026-01-01t01:00:01.999+0100", nil),
        ] {
            let fields = MintedReceipts.fields {
                $0.creationDate = nil
                $0.further = [ReceiptFields.attribute(12, date: date)]
            }
            #expect(try MintedReceipts.reason(fields) == reason, "\(date)")
        }
    }

    @Test func `claims beside a receipt must be true of it and of one purchase in it`() throws {
        let fields = MintedReceipts.fields {
            $0.records.append($0.records[0])
            $0.records[1].transactionID = "2"
            $0.records[1].productID = "other"
        }
        let text = try MintedReceipts.text(fields)
        let verifier = try MintedReceipts.verifier()
        for (claims, reason) in [
            (["bundleId": #""com.example.pro""#, "environment": #""Production""#], nil),
            (["transactionID": #""2""#, "productID": #""other""#], nil),
            (["transactionID": #""2""#, "productID": #""com.example.pro.monthly""#], .claimMismatch),
            (["bundleId": #""com.example.x""#], .claimMismatch), (["environment": #""Sandbox""#], .claimMismatch),
            (["transactionID": #""""#], .envelopeMalformed), (["appAppleId": "7"], .claimMismatch),
            (["appAppleId": "1234567890"], nil), (["password": #""secret""#, "exclude-old-transactions": "true"], nil),
        ] as [(KeyValuePairs<String, String>, RefusalReason?)] {
            #expect(verifier.reason(Body.receipt(text, members: claims)) == reason, "\(claims)")
        }
        let items = try verifier.items(Body.receipt(text, members: ["userID": #""anna""#]))
        #expect(items.allSatisfy(\.claims.isEmpty) && items.count == 2)
    }
}
