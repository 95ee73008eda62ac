package import OpenSSL

/// Good records wait because nobody has said whether these certificates are revoked: a fault of the
/// infrastructure, never of a record.
package struct RevocationUnknown: Error, Sendable, CustomStringConvertible {
    package let certificates: Set<SHA256Digest>
    /// What the last question met, if one has come to an end.
    package let fault: OCSPError?

    package var description: String {
        let names = certificates.sorted().map(\.hex).joined(separator: ", ")
        return "not known whether revoked: certificate \(names) (\(fault?.description ?? "asked"))"
    }
}
