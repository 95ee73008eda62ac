extension CertificateBuilder.Extension {
    /// Says where revocation can be asked for (RFC 5280 §4.2.2.1).
    package static func ocspResponder(at address: String) -> Self {
        let access = DER.sequence([
            DER.objectIdentifier("1.3.6.1.5.5.7.48.1"), DER.element(0x86, Array(address.utf8)),
        ])
        return Self(oid: "1.3.6.1.5.5.7.1.1", value: DER.sequence([access]))
    }

    /// Names the purpose of answering such questions (RFC 6960 §4.2.2.2).
    package static let ocspSigning = Self(
        oid: "2.5.29.37",
        value: DER.sequence([DER.objectIdentifier("1.3.6.1.5.5.7.3.9")])
    )
}
