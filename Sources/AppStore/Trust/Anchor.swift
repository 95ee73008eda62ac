import OpenSSL

/// A root that has vouched for a chain, or Xcode's certificate, which vouches for itself.
///
/// Whether it may vouch for the app of a payload is another question, asked for each payload.
struct Anchor {
    let trust: Trust
    let certificate: Certificate

    var fingerprint: SHA256Digest { certificate.fingerprint }
    var validity: ClosedRange<Int64> { certificate.validity }
}
