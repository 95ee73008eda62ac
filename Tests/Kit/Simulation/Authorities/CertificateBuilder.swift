import AppStore
package import OpenSSL

/// Issues certificates, good ones and ones with any defect a test needs.
///
/// The builder serves throw-away authorities only: tests, the demo, the benchmark. It writes the
/// bytes of a certificate itself, as OpenSSL would refuse to write half of the defects.
package struct CertificateBuilder: Sendable {
    package struct Extension: Sendable {
        package var oid: String
        package var isCritical: Bool
        package var value: [UInt8]

        package init(oid: String, isCritical: Bool = false, value: [UInt8] = [0x05, 0x00]) {
            self.oid = oid
            self.isCritical = isCritical
            self.value = value
        }
    }

    package var version = 3
    package var serialNumber = 1
    package var subject: String
    package var issuer: String
    /// Seconds since 1970, both ends included.
    package var validity: ClosedRange<Int64>
    /// Whole DER elements in place of the dates, to write what RFC 5280 forbids.
    package var notBeforeElement: [UInt8]?
    package var notAfterElement: [UInt8]?
    /// Whether basic constraints mark a CA.
    ///
    /// `nil` leaves basic constraints out.
    package var isCA: Bool?
    package var pathLengthMax: Int?
    package var keyUsage: KeyUsage?
    package var subjectKeyIdentifier: [UInt8]?
    package var authorityKeyIdentifier: [UInt8]?
    package var extensions: [Extension] = []
    package var signatureDigest = SignatureDigest.sha384
    /// A whole DER element in place of the key's own, such as that of a key whose private half does
    /// not exist.
    package var subjectPublicKeyInfo: [UInt8]?

    package init(subject: String, issuer: String, validity: ClosedRange<Int64>) {
        self.subject = subject
        self.issuer = issuer
        self.validity = validity
    }

    /// The certificate of `key`'s public half, signed by `issuerKey`.
    package func der(for key: PrivateKey, signedBy issuerKey: PrivateKey) throws(KeyError) -> [UInt8] {
        let algorithm = try signatureAlgorithm(of: issuerKey)
        let body = DER.sequence([
            version == 1 ? [] : DER.element(0xA0, DER.integer(version - 1)), DER.integer(serialNumber), algorithm,
            Self.name(issuer),
            DER.sequence([
                notBeforeElement ?? Self.date(validity.lowerBound), notAfterElement ?? Self.date(validity.upperBound),
            ]), Self.name(subject), subjectPublicKeyInfo ?? key.subjectPublicKeyInfo,
            version < 3 ? [] : DER.element(0xA3, DER.sequence(encodedExtensions)),
        ])
        let signature = try issuerKey.sign(body, digest: signatureDigest)
        return DER.sequence([body, algorithm, DER.bitString(signature)])
    }

    /// The name of the certificate for a PKCS #7 signer.
    package var issuerAndSerialNumber: [UInt8] { DER.sequence([Self.name(issuer), DER.integer(serialNumber)]) }

    private static func name(_ commonName: String) -> [UInt8] {
        let attribute = DER.sequence([DER.objectIdentifier("2.5.4.3"), DER.utf8String(commonName)])
        return DER.sequence([DER.set(attribute)])
    }

    /// Encodes a date by RFC 5280 §4.1.2.5: UTCTime from 1950 to 2049, else GeneralizedTime.
    private static func date(_ seconds: Int64) -> [UInt8] {
        let iso8601 = Timestamp(milliseconds: seconds * 1_000).description
        let text = iso8601.filter { !"-:T".contains($0) }
        return ("1950"..<"2050").contains(iso8601)
            ? DER.element(0x17, Array(text.utf8.dropFirst(2))) : DER.element(0x18, Array(text.utf8))
    }

    private var encodedExtensions: [[UInt8]] {
        (standardExtensions + extensions).map { item in
            DER.sequence([
                DER.objectIdentifier(item.oid), item.isCritical ? DER.boolean(true) : [], DER.octetString(item.value),
            ])
        }
    }

    private var standardExtensions: [Extension] {
        var all: [Extension] = []
        if let isCA {
            let value = DER.sequence([isCA ? DER.boolean(true) : [], pathLengthMax.map(DER.integer) ?? []])
            all.append(Extension(oid: "2.5.29.19", isCritical: true, value: value))
        }
        if let keyUsage {
            // The last bit in use here is the seventh, so one byte holds all of them.
            let bits = UInt8(truncatingIfNeeded: keyUsage.rawValue)
            let value = DER.bitString([bits], unusedBits: UInt8(bits.trailingZeroBitCount & 7))
            all.append(Extension(oid: "2.5.29.15", isCritical: true, value: value))
        }
        if let subjectKeyIdentifier {
            let value = DER.octetString(subjectKeyIdentifier)
            all.append(Extension(oid: "2.5.29.14", value: value))
        }
        if let authorityKeyIdentifier {
            let value = DER.sequence([DER.element(0x80, authorityKeyIdentifier)])
            all.append(Extension(oid: "2.5.29.35", value: value))
        }
        return all
    }

    /// The algorithm by RFC 4055 §5 for RSA, else by RFC 5758 §3.2 and RFC 3279 §2.2.3.
    private func signatureAlgorithm(of key: PrivateKey) throws(KeyError) -> [UInt8] {
        let isRSA = if case .rsa = key.kind { true } else { false }
        let arcs = isRSA ? Self.rsaArcs : Self.ecdsaArcs
        guard let arc = arcs[signatureDigest] else { throw .notSigned }
        let oid = isRSA ? "1.2.840.113549.1.1.\(arc)" : "1.2.840.10045.4.\(arc)"
        let parameters = isRSA ? DER.element(0x05, []) : []
        return DER.sequence([DER.objectIdentifier(oid), parameters])
    }

    private static let rsaArcs: [SignatureDigest: String] = [
        .md5: "4", .sha1: "5", .sha224: "14", .sha256: "11", .sha384: "12", .sha512: "13",
    ]
    private static let ecdsaArcs: [SignatureDigest: String] = [
        .sha1: "1", .sha224: "3.1", .sha256: "3.2", .sha384: "3.3", .sha512: "3.4",
    ]
}

extension CertificateBuilder.Extension {
    /// Names an OCSP responder (RFC 5280 §4.2.2.1).
    package static func ocspResponder(at address: String) -> Self {
        let access = DER.sequence([DER.objectIdentifier("1.3.6.1.5.5.7.48.1"), DER.element(0x86, Array(address.utf8))])
        return Self(oid: "1.3.6.1.5.5.7.1.1", value: DER.sequence([access]))
    }

    /// Authorises the certificate to sign OCSP answers (RFC 6960 §4.2.2.2).
    package static let ocspSigning = Self(
        oid: "2.5.29.37", value: DER.sequence([DER.objectIdentifier("1.3.6.1.5.5.7.3.9")]))
}
