package import JSON
package import OpenSSL

/// The certificates of a JWS header with the rules that each breaks, for people who inspect a refused body; never for
/// a decision.
package struct UnverifiedChain: Sendable {
    package struct Reading: Sendable {
        /// The certificate's role: `leaf`, `intermediate`, `root`, or the number of any other certificate.
        package let role: String
        /// The parsed certificate.
        ///
        /// `nil` if the certificate cannot be parsed.
        package let certificate: Certificate?
        /// The rules that the certificate breaks, each with the reason for a refusal.
        package fileprivate(set) var faults: [Fault] = []

        package var findings: [String] { faults.map(\.detail) }
    }

    package private(set) var readings: [Reading] = []
    /// The fault of the chain as a whole, which is a wrong length.
    ///
    /// `nil` if the length is right.
    package private(set) var problem: String?

    private static let roles = ["leaf", "intermediate", "root"]
    private static let certificatesMax = 10
    private static let certificateBytesMax = 64 << 10

    /// - Parameters:
    ///   - header: the header of a JWS; without `x5c` the result is `nil`.
    ///   - signedDate: the unverified date of the payload.
    package init?(header: JSONValue, signedDate: Timestamp?) {
        guard let x5c = header["x5c"], x5c.kind == .array else { return nil }
        let count = x5c.count
        if count != Self.roles.count { problem = "\(count) certificates instead of three" }
        for (index, value) in x5c.elements.prefix(Self.certificatesMax).enumerated() {
            let role = index < Self.roles.count ? Self.roles[index] : "number \(index + 1)"
            readings.append(Self.reading(value, role, at: signedDate))
        }
        for index in readings.indices {
            let issuer = index + 1 < readings.count ? readings[index + 1].certificate : nil
            readings[index].faults += Self.issuance(readings[index].certificate, by: issuer)
        }
    }

    private static func reading(_ value: JSONValue, _ role: String, at signedDate: Timestamp?) -> Reading {
        guard let text = value.stringBytes, text.count <= certificateBytesMax,
            let der = Base64.standard.decode(text.span)
        else {
            return Reading(
                role: role, certificate: nil,
                faults: [Fault(.certificateMalformed, "it is not standard base64, or is too large")])
        }
        do throws(CertificateError) {
            let certificate = try Certificate(der: der, acceptsOldVersions: role == "root")
            return Reading(role: role, certificate: certificate, faults: faults(certificate, role, at: signedDate))
        } catch {
            return Reading(
                role: role, certificate: nil, faults: [Fault(.certificateMalformed, "it does not parse: \(error)")])
        }
    }

    private static func faults(_ certificate: Certificate, _ role: String, at signedDate: Timestamp?) -> [Fault] {
        var faults: [Fault] = []
        func add(_ reason: RefusalReason, _ text: String) { faults.append(Fault(reason, text)) }
        if let signedDate, !certificate.validity.contains(signedDate.wholeSeconds) {
            add(.certificateNotValidAtSigning, "it was not valid at the date of signing that the payload states")
        }
        switch role {
        case "leaf":
            if certificate.occurrences(ofExtension: MarkerOID.receiptSigning) != 1 {
                add(
                    .certificatePurpose,
                    "it lacks the extension \(MarkerOID.receiptSigning): it is not for App Store data")
            }
            if certificate.isCA { add(.certificatePurpose, "it is a CA") }
            if let fault = ChainFamily.jws.keyFault(of: certificate) { add(.certificatePurpose, fault) }
        case "intermediate":
            if certificate.occurrences(ofExtension: MarkerOID.developerRelations) == 0 {
                add(
                    .certificatePurpose,
                    "it lacks the extension \(MarkerOID.developerRelations) of Apple's intermediates")
            }
            if !certificate.isCA { add(.chainInvalid, "it is not a CA") }
        case "root":
            if certificate.fingerprint != AppleRoots.jws {
                add(.rootUntrusted, "it is not Apple Root CA - G3, by its fingerprint")
            }
        default: break
        }
        if role != "root", !ChainFamily.jws.allows(certificate.signatureDigest) {
            add(.chainInvalid, "it is signed over a weak digest")
        }
        if !certificate.unknownCriticalExtensions.filter({ !MarkerOID.all.contains($0) }).isEmpty {
            add(.chainInvalid, "it has an unknown critical extension")
        }
        return faults
    }

    private static func issuance(_ certificate: Certificate?, by issuer: Certificate?) -> [Fault] {
        guard let certificate, let issuer else { return [] }
        let text: String
        switch certificate.issuance(by: issuer) {
        case .nameMismatch: text = "it names an issuer other than the next certificate"
        case .keyIdentifierMismatch: text = "it names a key other than the next certificate's"
        case .named:
            guard !certificate.isSigned(by: issuer) else { return [] }
            text = "the next certificate, which it names as its issuer, has not signed it"
        }
        return [Fault(.chainInvalid, text)]
    }
}

extension UnverifiedChain.Reading {
    package var purposes: [String] {
        guard let certificate else { return [] }
        var purposes: [String] = []
        if certificate.isCA { purposes.append("CA") }
        let usages: [(KeyUsage, String)] = [
            (.digitalSignature, "digital signature"), (.nonRepudiation, "non-repudiation"),
            (.keyEncipherment, "key encipherment"), (.keyCertSign, "signs certificates"),
            (.crlSign, "signs revocation lists"),
        ]
        for (usage, word) in usages where certificate.keyUsage?.contains(usage) ?? false { purposes.append(word) }
        if certificate.occurrences(ofExtension: MarkerOID.receiptSigning) > 0 {
            purposes.append("signs App Store data")
        }
        if certificate.occurrences(ofExtension: MarkerOID.developerRelations) > 0 {
            purposes.append("Apple Worldwide Developer Relations")
        }
        return purposes
    }
}
