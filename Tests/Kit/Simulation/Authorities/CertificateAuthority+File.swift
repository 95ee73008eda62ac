import OpenSSL

extension CertificateAuthority {
    private static let certificateLabel = "CERTIFICATE"
    private static let signerLabel = "RECEIPT SIGNER"

    /// The authority as a file, which `init(pem:)` reads: the certificates, the leaf's key, and how
    /// the leaf's receipts name it.
    package var pem: String {
        [root, intermediate, leaf].map { PEM.encode($0, label: Self.certificateLabel) }.joined() + leafKey.pem
            + PEM.encode(signerIdentifier, label: Self.signerLabel)
    }

    /// Reads an authority from the text of `pem`.
    ///
    /// `nil` for any other text.
    package init?(pem: [UInt8]) {
        let certificates = PEM.blocks(labelled: Self.certificateLabel, in: pem)
        guard certificates.count == 3, let signer = PEM.blocks(labelled: Self.signerLabel, in: pem).first,
            let key = try? PrivateKey(pem: pem)
        else { return nil }
        self.init(
            root: certificates[0], intermediate: certificates[1], leaf: certificates[2], leafKey: key,
            headerSegment: Self.headerSegment(certificates: certificates.reversed()), signerIdentifier: signer)
    }
}
