internal import COpenSSL

/// Who may speak for an issuer about what it has revoked.
enum OCSPSigner {
    /// Throws `.untrusted` unless the issuer, or somebody whom it has named for that purpose, has
    /// signed the response and is valid at the time.
    static func check(
        _ basic: OpaquePointer,
        issuer: Certificate,
        at now: Int64
    ) throws(OCSPError) {
        guard unsafe hasStrongDigest(basic) else {
            throw OCSPError(.untrusted, "the answer is signed over a weak digest")
        }
        let isTrusted = issuer.withWhole { issuer in
            guard let issuer else { return false }
            return unsafe verify(basic, issuer.object.pointer, now)
        }
        guard isTrusted else {
            throw OCSPError(.untrusted, "nobody who speaks for the issuer has signed the answer")
        }
    }

    private static func hasStrongDigest(_ basic: OpaquePointer) -> Bool {
        var algorithm: OpaquePointer?
        unsafe X509_ALGOR_get0(&algorithm, nil, nil, OCSP_resp_get0_tbs_sigalg(basic))
        var digest: Int32 = 0
        guard let algorithm = unsafe algorithm,
            unsafe OBJ_find_sigid_algs(OBJ_obj2nid(algorithm), &digest, nil) == 1
        else { return false }
        return [NID_sha256, NID_sha384, NID_sha512].contains(digest)
    }

    /// OpenSSL's own check, with the issuer as the only anchor, be it a root or not.
    private static func verify(
        _ basic: OpaquePointer,
        _ issuer: OpaquePointer,
        _ now: Int64
    ) -> Bool {
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
