package import OpenSSL

/// Good records wait because the revocation status of these certificates is unknown: a fault of the
/// infrastructure, never of a record.
package struct RevocationUnknown: Error, Sendable, CustomStringConvertible {
    package let certificates: Set<SHA256Digest>
    /// The fault of the last question, if one has ended.
    package let fault: OCSPError?

    package var description: String {
        let names = certificates.sorted().map(\.hex).joined(separator: ", ")
        return "not known whether revoked: certificate \(names) (\(fault?.description ?? "asked"))"
    }
}
