package import OpenSSL

/// The roots of Apple that the product trusts, by the SHA-256 of the certificate.
///
/// Each vouches for one family: G3 for no receipt, the RSA root for no JWS. The digests stand in
/// Apple's PKI pages (apple.com/certificateauthority).
package enum AppleRoots {
    /// Apple Root CA - G3: all JWS.
    package static let jws = pin("63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
    /// Apple Root CA: receipts.
    package static let receipts = pin(
        "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024"
    )

    private static func pin(_ hex: String) -> SHA256Digest {
        guard let digest = SHA256Digest(hex: hex) else {
            preconditionFailure("a pin is 64 hexadecimal digits")
        }
        return digest
    }
}
