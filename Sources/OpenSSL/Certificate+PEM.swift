extension Certificate {
    /// Reads a file of certificates: one in DER, or any number of PEM blocks.
    ///
    /// Throws what is wrong with the first bad one, `.notPEM` where there is none at all.
    package static func all(inFile bytes: [UInt8]) throws(CertificateError) -> [Certificate] {
        if bytes.first == 0x30 {
            return [try Certificate(der: bytes)]
        }
        let blocks = PEM.blocks(labelled: "CERTIFICATE", in: bytes)
        guard !blocks.isEmpty else { throw .notPEM }
        var certificates: [Certificate] = []
        for der in blocks {
            certificates.append(try Certificate(der: der))
        }
        return certificates
    }

    package var pem: String {
        PEM.encode(der, label: "CERTIFICATE")
    }
}
