package import OpenSSL

/// An error for valid records that wait because the revocation status of certificates is unknown.
///
/// The infrastructure causes this fault, never a record.
package struct RevocationUnknown: Error, Sendable, CustomStringConvertible {
    package let certificates: Set<SHA256Digest>
    /// The fault of the last question.
    ///
    /// `nil` if none has failed.
    package let fault: OCSPError?

    package var description: String {
        let names = certificates.sorted().map(\.hex).joined(separator: ", ")
        return "not known whether revoked: certificate \(names) (\(fault?.description ?? "asked"))"
    }
}
