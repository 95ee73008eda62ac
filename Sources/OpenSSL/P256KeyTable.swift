internal import COpenSSL

/// A table of multiples of a key on P-256, which halves the cost of verifying its signatures.
///
/// A verification multiplies two points, the curve's generator and the key. OpenSSL has a table for
/// the generator alone; a copy of the curve whose generator is the key gets one for the key. Making
/// it takes as long as some 500 verifications, and it holds 160 KiB, so it is for keys that come
/// back thousands of times. Only public numbers go through it, so nothing here runs in constant
/// time.
///
/// Immutable once made, so that threads may share one: OpenSSL treats both curves as const then.
@safe
package final class P256KeyTable: @unchecked Sendable {
    /// The curve as it is.
    fileprivate let curve: Handle<Resource.Group>
    /// The curve with the key for its generator.
    fileprivate let keyed: Handle<Resource.Group>

    /// Nil where this build of OpenSSL does not support such tables.
    package init?(key: P256PublicKey) {
        defer { ERR_clear_error() }
        let named = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        guard let curve = unsafe Handle<Resource.Group>(takingOwnershipOf: named),
            let keyed = unsafe Handle<Resource.Group>(
                takingOwnershipOf: EC_GROUP_dup(curve.pointer)
            ),
            let point = unsafe Self.point(of: key, on: keyed.pointer),
            let numbers = unsafe Handle<Resource.NumberContext>(takingOwnershipOf: BN_CTX_new()),
            unsafe EC_GROUP_set_generator(
                keyed.pointer,
                point.pointer,
                EC_GROUP_get0_order(curve.pointer),
                EC_GROUP_get0_cofactor(curve.pointer)
            ) == 1,
            unsafe shim_group_precompute(keyed.pointer, numbers.pointer) == 1
        else { return nil }
        self.curve = curve
        self.keyed = keyed
    }

    private static func point(
        of key: P256PublicKey,
        on curve: OpaquePointer
    ) -> Handle<Resource.Point>? {
        var octets: UnsafeMutablePointer<UInt8>?
        let count = unsafe EVP_PKEY_get1_encoded_public_key(key.key.pointer, &octets)
        defer { unsafe CRYPTO_free(octets, #file, #line) }
        guard let point = unsafe Handle<Resource.Point>(takingOwnershipOf: EC_POINT_new(curve)),
            unsafe EC_POINT_oct2point(curve, point.pointer, octets, count, nil) == 1,
            unsafe EC_POINT_is_at_infinity(curve, point.pointer) == 0
        else { return nil }
        return point
    }
}

/// ECDSA verification (FIPS 186-4 §6.4) with a key's table, in numbers and points made once.
///
/// OpenSSL performs every step. Not for use by two threads at once.
@safe
final class P256TableVerification {
    private let table: P256KeyTable
    private let numbers: Handle<Resource.NumberContext>
    private let sum: Handle<Resource.Point>
    private let term: Handle<Resource.Point>

    init(_ table: P256KeyTable) {
        guard let numbers = unsafe Handle<Resource.NumberContext>(takingOwnershipOf: BN_CTX_new()),
            let sum = unsafe Handle<Resource.Point>(
                takingOwnershipOf: EC_POINT_new(table.curve.pointer)
            ),
            let term = unsafe Handle<Resource.Point>(
                takingOwnershipOf: EC_POINT_new(table.curve.pointer)
            )
        else { preconditionFailure("out of memory for a verification") }
        self.table = table
        self.numbers = numbers
        self.sum = sum
        self.term = term
    }

    /// Whether r ‖ s (64 bytes) is the key's signature of a digest; r and s out of range are none.
    ///
    /// Nil where OpenSSL could not compute it; OpenSSL's error queue is left empty.
    func isValid(_ signature: Span<UInt8>, over digest: SHA256Digest) -> Bool? {
        let context = unsafe numbers.pointer
        unsafe BN_CTX_start(context)
        defer { unsafe BN_CTX_end(context) }
        let words = digest.words
        guard let r = unsafe BN_CTX_get(context), let s = unsafe BN_CTX_get(context),
            let e = unsafe BN_CTX_get(context), let x = unsafe BN_CTX_get(context),
            let order = unsafe EC_GROUP_get0_order(table.curve.pointer),
            unsafe Self.read(signature.bytes.extracting(0..<32), into: r),
            unsafe Self.read(signature.bytes.extracting(32..<64), into: s),
            unsafe Self.read(words.span.bytes, into: e)
        else { return failed() }
        guard unsafe BN_is_zero(r) == 0 && BN_cmp(r, order) < 0,
            unsafe BN_is_zero(s) == 0 && BN_cmp(s, order) < 0
        else { return false }
        guard unsafe combine(r, s, e, order) else { return failed() }
        guard unsafe EC_POINT_is_at_infinity(table.curve.pointer, sum.pointer) == 0 else {
            return false
        }
        guard
            unsafe EC_POINT_get_affine_coordinates(
                table.curve.pointer,
                sum.pointer,
                x,
                nil,
                context
            ) == 1,
            unsafe BN_nnmod(x, x, order, context) == 1
        else { return failed() }
        return unsafe BN_cmp(x, r) == 0
    }

    /// Sets `sum` to (e/s)·G + (r/s)·Q; `s` and `e` are overwritten.
    private func combine(
        _ r: OpaquePointer,
        _ s: OpaquePointer,
        _ e: OpaquePointer,
        _ order: OpaquePointer
    ) -> Bool {
        let context = unsafe numbers.pointer
        return unsafe BN_mod_inverse(s, s, order, context) != nil
            && BN_mod_mul(e, e, s, order, context) == 1
            && BN_mod_mul(s, r, s, order, context) == 1
            && EC_POINT_mul(table.curve.pointer, sum.pointer, e, nil, nil, context) == 1
            && EC_POINT_mul(table.keyed.pointer, term.pointer, s, nil, nil, context) == 1
            && EC_POINT_add(
                table.curve.pointer,
                sum.pointer,
                sum.pointer,
                term.pointer,
                context
            ) == 1
    }

    private func failed() -> Bool? {
        ERR_clear_error()
        return nil
    }

    private static func read(_ bytes: RawSpan, into number: OpaquePointer) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe BN_bin2bn(start, Int32(bytes.count), number) != nil
        }
    }
}
