import AppStore
import OpenSSL

extension DemoScript {
    /// Writes every defect in turn, each against an existing customer.
    mutating func writeDefects(count: Int, _ impostors: DemoImpostors) throws(KeyError) {
        for index in 0..<count {
            switch index % 4 {
            case 0: try writeForgery(index / 4, impostors)
            case 1: try writeMisrouted(index / 4)
            case 2: try writeContradiction(index / 4)
            default: try writeCorrupted(index / 4)
            }
        }
    }

    /// A forged purchase, of a product that occurs in forgeries only.
    private mutating func desired() -> DemoPurchase {
        let victim = users.randomElement(using: &generator)
        return buy(.forged, token: victim?.accountToken, at: now - 3 * Self.day)
    }

    private mutating func writeForgery(_ index: Int, _ impostors: DemoImpostors) throws(KeyError) {
        var purchase = desired()
        let payload = purchase.transaction.json
        switch index % 9 {
        case 0:
            let jws = try authority.forge(payload, .flippedSignature)
            publish(jws, as: .forgedSignature, refusal: .signatureInvalid)
        case 1:
            let jws = try authority.forge(payload, .flippedPayload)
            publish(Body.transaction(jws), as: .forgedPayload, refusal: .signatureInvalid)
        case 2:
            let jws = try authority.forge(payload, .algorithmNone)
            publish(jws, as: .algorithmNone, refusal: .algorithmNotAllowed)
        case 3:
            let jws = try impostors.foreign.sign(payload)
            publish(Body.transaction(jws), as: .foreignChain, refusal: .rootUntrusted)
        case 4:
            let jws = try impostors.broken.sign(payload)
            publish(jws, as: .brokenChain, refusal: .chainInvalid)
        case 5:
            let jws = try impostors.unmarked.sign(payload)
            publish(jws, as: .unmarkedLeaf, refusal: .certificatePurpose)
        case 6:
            let begin = CertificateAuthority.standardValidity.lowerBound
            purchase.sign(at: (begin - 1) * 1_000)
            let jws = try authority.sign(purchase.transaction.json)
            publish(jws, as: .expiredChain, refusal: .certificateNotValidAtSigning)
        case 7:
            let jws = try authority.forge(payload, .withoutCertificates)
            publish(jws, as: .missingChain, refusal: .x5cMissing)
        default:
            let body = try forgedReceipt(of: purchase)
            publish(body, as: .forgedReceipt, refusal: .receiptSignatureInvalid)
        }
    }

    private mutating func writeMisrouted(_ index: Int) throws(KeyError) {
        var purchase = desired()
        switch index % 3 {
        case 0:
            purchase.transaction.bundleID = "com.example.somebody-else"
            let jws = try authority.sign(purchase.transaction.json)
            publish(Body.transaction(jws), as: .wrongBundle, refusal: .bundleMismatch)
        case 1:
            let body = try notification("ONE_TIME_CHARGE", of: purchase) { $0.appAppleID = 1 }
            publish(body, as: .wrongAppleID, refusal: .appMismatch)
        default:
            purchase.transaction.bundleID = DemoApp.coins.bundleID
            purchase.transaction.environment = "Sandbox"
            let jws = try authority.sign(purchase.transaction.json)
            publish(jws, as: .sandboxForProduction, refusal: .environmentMismatch)
        }
    }

    private mutating func writeContradiction(_ index: Int) throws(KeyError) {
        var purchase = desired()
        switch index % 3 {
        case 0:
            purchase.cover(until: now + Self.day)
            purchase.renewal.originalTransactionID = nextTransactionID()
            let body = try notification("SUBSCRIBED", "INITIAL_BUY", of: purchase)
            publish(body, as: .contradictingItems, refusal: .itemMismatch)
        case 1:
            let jws = try authority.sign(purchase.transaction.json)
            let body = Body.transaction(jws, claims: ["productID": "\"com.example.pro.premium\""])
            publish(body, as: .contradictingClaims, refusal: .claimMismatch)
        default:
            purchase.transaction.productID = nil
            let jws = try authority.sign(purchase.transaction.json)
            publish(jws, as: .incomplete, refusal: .payloadMalformed)
        }
    }

    private mutating func writeCorrupted(_ index: Int) throws(KeyError) {
        let purchase = desired()
        switch index % 6 {
        case 0:
            let jws = try authority.forge(purchase.transaction.json, .truncated)
            publish(jws, as: .truncatedToken, refusal: .jwsMalformed)
        case 1:
            let body = Body.transaction(try authority.sign(purchase.transaction.json))
            publish(Array(body.prefix(body.count / 2)), as: .truncatedEnvelope, refusal: .envelopeMalformed)
        case 2:
            let bytes = (0..<200).map { _ in UInt8.random(in: 0x80...0xFF, using: &generator) }
            publish(bytes, as: .garbage, key: bytes, refusal: .bodyUnrecognized)
        case 3: publish(legacyReceipt(of: purchase), as: .legacyReceipt, refusal: .receiptUnsupported)
        case 4: publish([], as: .emptyValue, refusal: .bodyUnrecognized)
        default: publish(nil, as: .nullValue, refusal: .bodyUnrecognized)
        }
    }
}
