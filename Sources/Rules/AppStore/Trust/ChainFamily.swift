package import OpenSSL

/// The two kinds of data that certificate chains sign.
///
/// Apple has one root for each family; a root does not vouch for the other family.
enum ChainFamily {
    case jws
    case receipts

    var pin: SHA256Digest {
        switch self {
        case .jws: AppleRoots.jws
        case .receipts: AppleRoots.receipts
        }
    }

    /// The trust that a root gives to this family.
    ///
    /// `nil` for Apple's root of the other family.
    func trust(inRoot fingerprint: SHA256Digest) -> Trust? {
        switch fingerprint {
        case pin: .apple
        case AppleRoots.jws, AppleRoots.receipts: nil
        default: .configured(fingerprint)
        }
    }

    /// Whether a certificate below the root may have a signature with this digest: Apple's receipts used SHA-1 until
    /// 2023.
    func allows(_ digest: SignatureDigest) -> Bool {
        switch digest {
        case .sha256, .sha384, .sha512: true
        case .sha1: self == .receipts
        default: false
        }
    }

    static let rsaBitsMin = 2048

    /// The reason why the leaf's key may not sign for this family.
    ///
    /// `nil` if the key may sign.
    func keyFault(of leaf: Certificate) -> String? {
        switch self {
        case .jws:
            return leaf.hasNamedCurve && leaf.p256Key != nil ? nil : "the leaf's key is not on P-256 as a named curve"
        case .receipts:
            if case .rsa(let bits) = leaf.keyKind, bits >= Self.rsaBitsMin { return nil }
            return "the leaf's key is not RSA with 2048 bits or more"
        }
    }
}

/// The pinned roots of Apple, by the SHA-256 of the certificate.
///
/// Each root vouches for one family: G3 for JWS only, the RSA root for receipts only. Apple publishes the digests on
/// its PKI page (apple.com/certificateauthority).
package enum AppleRoots {
    /// The digest of Apple Root CA - G3, for all JWS.
    package static let jws = pin("63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
    /// The digest of Apple Root CA, for receipts.
    package static let receipts = pin("b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024")

    private static func pin(_ hex: String) -> SHA256Digest {
        guard let digest = SHA256Digest(hex: hex) else { preconditionFailure("a pin is 64 hexadecimal digits") }
        return digest
    }
}

/// Apple's extensions that state a certificate's purpose; the extensions' values are ignored.
package enum MarkerOID {
    /// The marker of a leaf that signs receipts and transactions of the App Store.
    package static let receiptSigning = "1.2.840.113635.100.6.11.1"
    /// The marker of the intermediate, Apple Worldwide Developer Relations.
    package static let developerRelations = "1.2.840.113635.100.6.2.1"

    static let all: Set<String> = [receiptSigning, developerRelations]
}

/// A root that has issued a chain, or Xcode's certificate, which needs no issuer.
///
/// The verifier checks for each payload whether the root may vouch for the payload's app.
struct Anchor {
    let trust: Trust
    let certificate: Certificate

    var fingerprint: SHA256Digest { certificate.fingerprint }
    var validity: ClosedRange<Int64> { certificate.validity }
}
