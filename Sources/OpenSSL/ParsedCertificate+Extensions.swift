internal import COpenSSL

extension ParsedCertificate {
    /// Nil where an extension that OpenSSL knows is malformed or occurs twice.
    var extensions: Extensions? {
        let flags = unsafe X509_get_extension_flags(object.pointer)
        guard flags & UInt32(EXFLAG_INVALID) == 0 else { return nil }
        let pathLength = unsafe X509_get_pathlen(object.pointer)
        let hasKeyUsage = flags & UInt32(EXFLAG_KUSAGE) != 0
        let bits = hasKeyUsage ? unsafe X509_get_key_usage(object.pointer) : 0
        return Extensions(
            isCA: flags & UInt32(EXFLAG_BCONS) != 0 && flags & UInt32(EXFLAG_CA) != 0,
            pathLengthMax: pathLength >= 0 ? Int(pathLength) : nil,
            keyUsage: hasKeyUsage ? KeyUsage(rawValue: bits) : nil
        )
    }

    func occurrences(ofExtension oid: String) -> Int {
        guard
            let identifier = unsafe Handle<Resource.ObjectIdentifier>(
                takingOwnershipOf: OBJ_txt2obj(oid, 1)
            )
        else {
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

    /// What a rule of this product reads, or what decides nothing by those rules.
    private static let understood: Set<Int32> = [
        NID_basic_constraints, NID_key_usage, NID_ext_key_usage, NID_subject_alt_name,
        NID_issuer_alt_name, NID_certificate_policies, NID_authority_key_identifier,
        NID_subject_key_identifier, NID_crl_distribution_points, NID_info_access,
    ]

    /// Name and policy constraints are among them: nobody here would enforce them.
    var unknownCriticalExtensions: [String] {
        var unknown: [String] = []
        for index in 0..<(unsafe X509_get_ext_count(object.pointer)) {
            guard let item = unsafe X509_get_ext(object.pointer, index),
                unsafe X509_EXTENSION_get_critical(item) != 0,
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
            guard let start = text.baseAddress,
                unsafe OBJ_obj2txt(start, Int32(capacity), identifier, 1) > 0
            else { return "?" }
            return unsafe String(cString: start)
        }
    }
}
