internal import COpenSSL

/// The status of one certificate from an authorised responder.
package struct OCSPAnswer: Hashable, Sendable {
    package enum Status: Hashable, Sendable {
        case good
        /// The certificate is revoked from this second on, counted since 1970.
        case revoked(since: Int64)
        /// The responder does not know the certificate.
        case unknown
    }

    package let status: Status
    /// Time at which the status was known to be correct, in seconds since 1970.
    package let thisUpdate: Int64
    /// Time at which a newer answer will be available, in seconds since 1970.
    ///
    /// `nil` if the responder does not state it.
    package let nextUpdate: Int64?

    /// Maximum difference between the clocks of this machine and of the responder, in seconds.
    package static let clockSkewMax: Int64 = 300

    /// Makes an answer from its parts, for example a cached answer.
    package init(status: Status, thisUpdate: Int64, nextUpdate: Int64?) {
        self.status = status
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }

    /// Reads an answer and checks it.
    ///
    /// The signer must be the certificate's issuer, or a currently valid certificate that this issuer has signed for
    /// OCSP (RFC 6960 §4.2.2.2). The digest must be SHA-256 or stronger; the answer must be about this certificate,
    /// and current.
    ///
    /// - Parameter now: the current time in seconds since 1970.
    package init(der: [UInt8], about certificate: Certificate, issuedBy issuer: Certificate, at now: Int64)
        throws(OCSPError)
    {
        defer { ERR_clear_error() }
        let decoded = unsafe Handle<Resource.OCSPResponse>.decoding(der) { position, count in
            unsafe d2i_OCSP_RESPONSE(nil, &position, count)
        }
        guard let response = decoded else { throw OCSPError(.malformed, "the answer is not an OCSP response") }
        let status = unsafe OCSP_response_status(response.pointer)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw OCSPError(.refused, "the responder's status is \(status)")
        }
        let made = unsafe OCSP_response_get1_basic(response.pointer)
        guard let basic = unsafe Handle<Resource.OCSPBasicResponse>(takingOwnershipOf: made) else {
            throw OCSPError(.malformed, "the answer is not a basic response")
        }
        try unsafe OCSPSigner.check(basic.pointer, issuer: issuer, at: now)
        let named = unsafe OCSPQuestion.identifier(of: certificate, issuedBy: issuer)
        guard let identifier = unsafe Handle<Resource.OCSPIdentifier>(takingOwnershipOf: named) else {
            throw OCSPError(.aboutAnother, "the certificate cannot be identified")
        }
        self = try unsafe OCSPAnswer(in: basic.pointer, about: identifier.pointer)
        let isFromFuture = thisUpdate > now + Self.clockSkewMax
        let isStale = (nextUpdate ?? .max - Self.clockSkewMax) + Self.clockSkewMax < now
        guard !isFromFuture, !isStale else {
            throw OCSPError(.outOfWindow, isStale ? "the answer is out of date" : "the answer is from the future")
        }
        guard thisUpdate <= nextUpdate ?? .max else {
            throw OCSPError(.outOfWindow, "the answer is out of date before it is given")
        }
    }

    private init(in basic: OpaquePointer, about identifier: OpaquePointer) throws(OCSPError) {
        var status: Int32 = 0
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var this: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let isFound = unsafe OCSP_resp_find_status(basic, identifier, &status, nil, &revoked, &this, &next)
        guard isFound == 1 else { throw OCSPError(.aboutAnother, "the answer is not about this certificate") }
        guard let thisUpdate = unsafe Self.seconds(this) else {
            throw OCSPError(.malformed, "thisUpdate is not a time")
        }
        let nextUpdate = unsafe Self.seconds(next)
        guard unsafe nextUpdate != nil || next == nil else { throw OCSPError(.malformed, "nextUpdate is not a time") }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: self.status = .good
        case V_OCSP_CERTSTATUS_REVOKED:
            guard let since = unsafe Self.seconds(revoked) else {
                throw OCSPError(.malformed, "the time of revocation is malformed")
            }
            self.status = .revoked(since: since)
        default: self.status = .unknown
        }
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }

    /// Converts a time to seconds since 1970.
    private static func seconds(_ time: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?) -> Int64? {
        let made = unsafe ASN1_TIME_set(nil, 0)
        defer { unsafe ASN1_STRING_free(made) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let time = unsafe time, let epoch = unsafe made, unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1
        else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}

/// Checks that the signer of an answer is authorised by the certificate's issuer.
enum OCSPSigner {
    /// Throws `.untrusted` unless the signer is the issuer or a responder authorised by it, and is valid at `now`.
    static func check(_ basic: OpaquePointer, issuer: Certificate, at now: Int64) throws(OCSPError) {
        guard unsafe hasStrongDigest(basic) else {
            throw OCSPError(.untrusted, "the answer is signed over a weak digest")
        }
        let isTrusted = issuer.withWhole { issuer in
            guard let issuer else { return false }
            return unsafe verify(basic, issuer.object.pointer, now)
        }
        guard isTrusted else {
            throw OCSPError(.untrusted, "neither the issuer nor its responder has signed the answer")
        }
    }

    private static func hasStrongDigest(_ basic: OpaquePointer) -> Bool {
        var algorithm: OpaquePointer?
        unsafe X509_ALGOR_get0(&algorithm, nil, nil, OCSP_resp_get0_tbs_sigalg(basic))
        var digest: Int32 = 0
        guard let algorithm = unsafe algorithm, unsafe OBJ_find_sigid_algs(OBJ_obj2nid(algorithm), &digest, nil) == 1
        else { return false }
        return [NID_sha256, NID_sha384, NID_sha512].contains(digest)
    }

    /// Runs OpenSSL's own check, with the issuer as the only anchor, even if the issuer is not a root.
    private static func verify(_ basic: OpaquePointer, _ issuer: OpaquePointer, _ now: Int64) -> Bool {
        let madeStore = unsafe X509_STORE_new()
        let madeList = unsafe OPENSSL_sk_new_null()
        guard let store = unsafe Handle<Resource.Store>(takingOwnershipOf: madeStore),
            let certificates = unsafe Handle<Resource.Borrowings>(takingOwnershipOf: madeList),
            unsafe X509_STORE_add_cert(store.pointer, issuer) == 1,
            unsafe OPENSSL_sk_push(certificates.pointer, UnsafeRawPointer(issuer)) > 0,
            let parameters = unsafe X509_STORE_get0_param(store.pointer)
        else { return false }
        let flags = UInt(X509_V_FLAG_PARTIAL_CHAIN)
        guard unsafe X509_VERIFY_PARAM_set_flags(parameters, flags) == 1 else { return false }
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(now))
        return unsafe OCSP_basic_verify(basic, certificates.pointer, store.pointer, 0) == 1
    }
}

/// The reason why an answer about a certificate is invalid or missing.
package struct OCSPError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable {
        /// The request could not be encoded.
        case notAsked = "not_asked"
        /// No answer arrived: no connection, a time-out, a wrong size or a wrong type.
        case unanswered
        /// The answer is not an OCSP response.
        case malformed
        /// The response's status is an error.
        case refused
        /// The answer is not signed by the issuer or a responder that the issuer has authorised, or the signature's
        /// digest is weak.
        case untrusted
        /// The answer is about other certificates.
        case aboutAnother = "about_another"
        /// The answer's period of validity has not begun, has ended, or ends before it begins.
        case outOfWindow = "out_of_window"
    }

    package let code: Code
    /// A text of this code or a constant of OpenSSL's; the text contains nothing from the answer.
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    package var description: String { "\(code.rawValue): \(detail)" }
}
