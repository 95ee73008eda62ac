internal import COpenSSL

/// A parsed `X509` object and the facts read from it.
///
/// OpenSSL changes a parsed certificate only to cache its extensions, under the object's own lock. The initialiser
/// triggers that, so afterwards any thread may read the object.
@safe final class ParsedCertificate: @unchecked Sendable {
    enum Library {
        /// A library without algorithms: it parses, but decodes no key and verifies nothing.
        case null
        case standard
    }

    struct Extensions {
        let isCA: Bool
        let pathLengthMax: Int?
        let keyUsage: KeyUsage?
    }

    let object: Handle<Resource.CertificateObject>

    /// Parses a certificate.
    ///
    /// `nil` if OpenSSL cannot read the bytes, or other bytes follow the certificate.
    init?(der: [UInt8], in library: Library) {
        let context: OpaquePointer? =
            switch library {
            case .null: unsafe NullLibrary.shared.pointer
            case .standard: nil
            }
        defer { ERR_clear_error() }
        var object = unsafe X509_new_ex(context, nil)
        let isWhole = unsafe der.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return false }
            var position: UnsafePointer<UInt8>? = unsafe start
            // On failure this frees the object and sets the pointer to NULL.
            guard unsafe d2i_X509(&object, &position, buffer.count) != nil else { return false }
            return unsafe position == start + buffer.count
        }
        guard let handle = unsafe Handle<Resource.CertificateObject>(takingOwnershipOf: object), isWhole else {
            return nil
        }
        _ = unsafe X509_get_extension_flags(handle.pointer)
        self.object = handle
    }

    /// The version, from 1 to 3.
    var version: Int { unsafe X509_get_version(object.pointer) + 1 }

    var validity: ClosedRange<Int64>? {
        guard let notBefore = unsafe Self.seconds(X509_get0_notBefore(object.pointer)),
            let notAfter = unsafe Self.seconds(X509_get0_notAfter(object.pointer)), notBefore <= notAfter
        else { return nil }
        return notBefore...notAfter
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let time = unsafe time, let data = unsafe time.pointee.data else { return nil }
        let text = unsafe Span(_unsafeStart: UnsafePointer(data), count: Int(time.pointee.length))
        return switch unsafe time.pointee.type {
        case V_ASN1_UTCTIME: CertificateDate.seconds(fromUTCTime: text)
        case V_ASN1_GENERALIZEDTIME: CertificateDate.seconds(fromGeneralizedTime: text)
        default: nil
        }
    }

    var signatureDigest: SignatureDigest {
        var digest: Int32 = 0
        guard unsafe X509_get_signature_info(object.pointer, &digest, nil, nil, nil) == 1 else {
            ERR_clear_error()
            return .other
        }
        return switch digest {
        case NID_md5: .md5
        case NID_sha1: .sha1
        case NID_sha224: .sha224
        case NID_sha256: .sha256
        case NID_sha384: .sha384
        case NID_sha512: .sha512
        default: .other
        }
    }

    /// Checks that the issuer's name matches, and that an authority key identifier, if present, names the issuer's
    /// key.
    func issuance(by issuer: ParsedCertificate) -> IssuanceCheck {
        let isNamed = unsafe X509_NAME_cmp(
            X509_get_issuer_name(object.pointer), X509_get_subject_name(issuer.object.pointer))
        guard isNamed == 0 else { return .nameMismatch }
        defer { ERR_clear_error() }
        let decoded = unsafe X509_get_ext_d2i(object.pointer, NID_authority_key_identifier, nil, nil)
        guard let decoded = unsafe decoded else { return .named }
        let identifier = unsafe decoded.assumingMemoryBound(to: AUTHORITY_KEYID.self)
        defer { unsafe AUTHORITY_KEYID_free(identifier) }
        let status = unsafe X509_check_akid(issuer.object.pointer, identifier)
        return status == X509_V_OK ? .named : .keyIdentifierMismatch
    }

    func isSigned(by issuer: ParsedCertificate) -> Bool {
        guard let key = unsafe X509_get0_pubkey(issuer.object.pointer) else { return false }
        defer { ERR_clear_error() }
        return unsafe X509_verify(object.pointer, key) == 1
    }
}

extension ParsedCertificate {
    /// The contents of the extensions.
    ///
    /// `nil` if an extension that OpenSSL knows is malformed or occurs twice.
    var extensions: Extensions? {
        let flags = unsafe X509_get_extension_flags(object.pointer)
        guard flags & UInt32(EXFLAG_INVALID) == 0 else { return nil }
        let pathLength = unsafe X509_get_pathlen(object.pointer)
        let hasKeyUsage = flags & UInt32(EXFLAG_KUSAGE) != 0
        let bits = hasKeyUsage ? unsafe X509_get_key_usage(object.pointer) : 0
        return Extensions(
            isCA: flags & UInt32(EXFLAG_BCONS) != 0 && flags & UInt32(EXFLAG_CA) != 0,
            pathLengthMax: pathLength >= 0 ? Int(pathLength) : nil,
            keyUsage: hasKeyUsage ? KeyUsage(rawValue: bits) : nil)
    }

    func occurrences(ofExtension oid: String) -> Int {
        guard let identifier = unsafe Handle<Resource.ObjectIdentifier>(takingOwnershipOf: OBJ_txt2obj(oid, 1)) else {
            ERR_clear_error()
            return 0
        }
        var count = 0
        var position: Int32 = -1
        while true {
            position = unsafe X509_get_ext_by_OBJ(object.pointer, identifier.pointer, position)
            guard position >= 0 else { return count }
            count += 1
        }
    }

    /// Extensions that a rule of this product reads, or that the rules accept.
    private static let understood: Set<Int32> = [
        NID_basic_constraints, NID_key_usage, NID_ext_key_usage, NID_subject_alt_name, NID_issuer_alt_name,
        NID_certificate_policies, NID_authority_key_identifier, NID_subject_key_identifier, NID_crl_distribution_points,
        NID_info_access,
    ]

    /// The critical extensions that no rule handles, including name and policy constraints, which no rule enforces.
    var unknownCriticalExtensions: [String] {
        var unknown: [String] = []
        for index in 0..<(unsafe X509_get_ext_count(object.pointer)) {
            guard let item = unsafe X509_get_ext(object.pointer, index), unsafe X509_EXTENSION_get_critical(item) != 0,
                let identifier = unsafe X509_EXTENSION_get_object(item)
            else { continue }
            guard !Self.understood.contains(unsafe OBJ_obj2nid(identifier)) else { continue }
            unknown.append(unsafe Self.dottedDecimal(identifier))
        }
        return unknown
    }

    private static func dottedDecimal(_ identifier: OpaquePointer) -> String {
        let capacity = 256
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { text in
            guard let start = text.baseAddress, unsafe OBJ_obj2txt(start, Int32(capacity), identifier, 1) > 0 else {
                return "?"
            }
            return unsafe String(cString: start)
        }
    }
}

/// An OpenSSL library context without any algorithm.
///
/// On parsing a certificate, OpenSSL 3 decodes its public key at once, with a chain of decoders that it creates each
/// time: 100 µs and more, beside 20 µs for the rest. A certificate parsed in this context keeps its key undecoded, so
/// a forged chain costs only its parsing.
@safe struct NullLibrary: @unchecked Sendable {
    let pointer: OpaquePointer

    static let shared = NullLibrary()

    private init() {
        guard let pointer = unsafe OSSL_LIB_CTX_new(), unsafe OSSL_PROVIDER_load(pointer, "null") != nil else {
            preconditionFailure("libcrypto has no null provider")
        }
        unsafe self.pointer = unsafe pointer
    }
}
