import OpenSSL

extension Verifier {
    /// Verifies the certificates of a header that no cached chain stands for.
    func verifyChain(_ header: [UInt8]) throws(Fault) -> VerifiedChain {
        let header = try JWSHeader(
            decoding: header,
            acceptsSingleCertificate: !configuration.localCertificates.isEmpty,
            limits: configuration.limits
        )
        var certificates: [Certificate] = []
        for (place, der) in header.certificates.enumerated() {
            certificates.append(try parse(der, at: place))
            trail.note(chain: certificates.map(CertificateFacts.init))
        }
        guard certificates.count == 3 else { return try verifyLocal(certificates[0]) }
        let policy = ChainPolicy(
            leaf: certificates[0],
            intermediate: certificates[1],
            presentedRoot: certificates[2]
        )
        let anchors = try policy.anchors(configuration.chainRoots)
        return VerifiedChain(policy, anchors: anchors)
    }

    /// The third certificate may be of an old version, as in Apple's own mock data: it is believed
    /// only where it is pinned or configured, and then it is of version 3.
    private func parse(_ der: [UInt8], at place: Int) throws(Fault) -> Certificate {
        do throws(CertificateError) {
            return try Certificate(der: der, acceptsOldVersions: place == 2)
        } catch {
            throw Fault(.certificateMalformed, "a certificate does not parse: \(error)")
        }
    }

    /// Xcode's certificate has to be a configured one, byte for byte; there is no chain.
    private func verifyLocal(_ certificate: Certificate) throws(Fault) -> VerifiedChain {
        let isConfigured = configuration.localCertificates.contains {
            $0.fingerprint == certificate.fingerprint
        }
        guard isConfigured else {
            throw Fault(.rootUntrusted, "the single certificate is not a configured one")
        }
        return VerifiedChain(local: certificate)
    }
}
