import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing
import Simulation

/// A receipt that Apple signed, against the pinned root.
@Suite(.needsSharedData) struct GenuineReceiptTests {
    static let bundleID = "dev.bonzer.weeka.app"

    static func text() throws -> [UInt8] { try SharedData.vector("receipts/receipt-sandbox-g5") }

    static func verifier(bundleID: String = bundleID, _ environment: Environment = .sandbox, roots: [Certificate] = [])
        -> Verifier
    { .of(bundleID, environment, roots: roots) }

    @Test func `genuine receipts are accepted, bare and posted`() throws {
        for body in [try Self.text(), Body.receipt(try Self.text())] {
            let items = try Self.verifier().items(body)
            #expect(items.count == 2)
            for item in items {
                #expect(item.environment == .sandbox && item.bundleID?.text == Self.bundleID)
                #expect(item.verification.trust == .apple)
                #expect(item.verification.root == AppleRoots.receipts)
                #expect(item.verification.method == .receipt)
                #expect(item.verification.signedDate.description == "2025-12-26T18:39:47Z")
                #expect(item.malformedFields == 0)
                #expect(item.transaction?.fields.type == .autoRenewable)
                #expect(item.receipt?["receiptType"]?.string == "ProductionSandbox")
                #expect(item.receipt?["originalApplicationVersion"]?.string == "1.0")
            }
            let ids = items.compactMap { $0.transaction?.fields.transactionID?.string }
            #expect(Set(ids).count == 2 && ids.allSatisfy { !$0.isEmpty })
        }
    }

    @Test func `it is accepted only for its own app and environment`() throws {
        let text = try Self.text()
        #expect(Self.verifier(bundleID: "com.example.x").reason(text) == .bundleMismatch)
        #expect(Self.verifier(Environment.production).reason(text) == .environmentMismatch)
    }

    @Test func `Apple's root among the custom ones counts as Apple; that of JWS does not`() throws {
        for (file, reason) in [("AppleIncRootCertificate", nil), ("AppleRootCA-G3", RefusalReason.rootUntrusted)] {
            let root = try Certificate(der: SharedData.vector("roots/\(file).cer"))
            #expect(Self.verifier(roots: [root]).reason(try Self.text()) == reason)
        }
    }

    /// The chain is in a JWS, where this root of Apple's is not a custom root either.
    @Test func `Apple's root of receipts vouches for no JWS, even as a custom root`() throws {
        let text = String(decoding: try Self.text(), as: UTF8.self)
        let chain = try Self.outline(try #require(Base64Decoding.standard(text))).certificates
        #expect(try SHA256.digest(#require(chain.last)) == AppleRoots.receipts)
        let token = AppleLibrary.unsigned(chain, signedAt: 1_766_774_387)
        let root = try Certificate(der: SharedData.vector("roots/AppleIncRootCertificate.cer"))
        for roots in [[], [root]] { #expect(Self.verifier(roots: roots).reason(token) == .rootUntrusted) }
    }

    @Test func `an app with a custom root does not accept Apple's root`() throws {
        let root = try Minted.root(MintedReceipts.authority.get())
        #expect(Self.verifier(roots: [root]).reason(try Self.text()) == .rootUntrusted)
    }

    /// The test checks the message against a leaf parsed once, as the chain is the same for each.
    @Test func `every flipped bit of what is signed is refused`() throws {
        let text = String(decoding: try Self.text(), as: UTF8.self)
        let receipt = try #require(Base64Decoding.standard(text))
        let genuine = try Self.message(receipt)
        let outline = try Self.outline(receipt)
        let leaf = try #require(
            try outline.certificates.map { try Certificate(der: $0) }.first(where: genuine.isSigned(in:)))
        #expect(genuine.check(with: leaf) == .valid)
        let start = try #require(receipt.firstRange(of: genuine.content)?.lowerBound)
        var accepted: [Int] = []
        for bit in 0..<genuine.content.count * 8 {
            var flipped = receipt
            flipped[start + bit / 8] ^= 1 << UInt8(bit % 8)
            let message = try Self.message(flipped)
            if message.content == genuine.content || message.check(with: leaf) == .valid { accepted.append(bit) }
        }
        #expect(accepted == [])
    }

    private static func outline(_ receipt: [UInt8]) throws -> MessageOutline {
        try MessageOutline(ber: receipt, certificateCounts: [3], certificateBytesMax: 8 << 10)
    }

    private static func message(_ receipt: [UInt8]) throws -> SignedMessage { try SignedMessage(outline(receipt)) }

    @Test func `flipped bits of the receipt are never accepted as another purchase`() throws {
        let text = String(decoding: try Self.text(), as: UTF8.self)
        let receipt = try #require(Base64Decoding.standard(text))
        let verifier = Self.verifier()
        let genuine = try verifier.items(Self.text()).map { $0.transaction?.json.rawBytes }
        for index in stride(from: 0, to: receipt.count, by: 37) {
            for bit in [1, 6] {
                var flipped = receipt
                flipped[index] ^= 1 << UInt8(bit)
                guard case .success(.items(let items)) = verifier.verify(Base64Text.standard(flipped)) else { continue }
                // Outside of the signed content some bits are irrelevant, such as a version number.
                #expect(items.map { $0.transaction?.json.rawBytes } == genuine, "byte \(index)")
            }
        }
    }
}
