import OpenSSL

extension Verifier {
    /// Verifies the certificates of a header that is not in the cache.
    func verifyChain(_ header: [UInt8]) throws(Fault) -> VerifiedChain {
        let header = try JWSHeader(
            decoding: header, acceptsSingleCertificate: !configuration.localCertificates.isEmpty,
            limits: configuration.limits)
        let certificates = try parse(header.certificates, acceptsOldRoot: true)
        guard certificates.count == 3 else { return try verifyLocal(certificates[0], .jws) }
        let policy = ChainPolicy(
            leaf: certificates[0], intermediate: certificates[1], presentedRoot: certificates[2], family: .jws)
        let anchors = try policy.anchors(configuration.chainRoots(.jws), &signatures)
        return VerifiedChain(policy, anchors: anchors)
    }

    /// Parses certificates; records those that parse, even if a later one does not.
    ///
    /// - Parameter acceptsOldRoot: whether the third certificate may have an old version, as in the JWS of Apple's
    ///   mock data: it is trusted only if pinned or configured, and then it has version 3.
    func parse(_ certificates: [[UInt8]], acceptsOldRoot: Bool) throws(Fault) -> [Certificate] {
        var parsed: [Certificate] = []
        for (index, der) in certificates.enumerated() {
            if let known = signatures.certificate(of: der) {
                parsed.append(known)
            } else {
                parsed.append(try parse(der, acceptsOldVersions: acceptsOldRoot && index == 2))
            }
            trail.record(chain: parsed.map(CertificateFacts.init))
        }
        return parsed
    }

    private func parse(_ der: [UInt8], acceptsOldVersions: Bool) throws(Fault) -> Certificate {
        do throws(CertificateError) { return try Certificate(der: der, acceptsOldVersions: acceptsOldVersions) } catch {
            throw Fault(.certificateMalformed, "a certificate does not parse: \(error)")
        }
    }

    /// Requires a configured Xcode certificate with exactly the same bytes; there is no chain.
    func verifyLocal(_ certificate: Certificate, _ family: ChainFamily) throws(Fault) -> VerifiedChain {
        let isConfigured = configuration.localCertificates.contains { $0.fingerprint == certificate.fingerprint }
        guard isConfigured else { throw Fault(.rootUntrusted, "the single certificate is not a configured one") }
        return VerifiedChain(local: certificate, family)
    }
}
