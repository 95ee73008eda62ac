internal import COpenSSL

/// A table of multiples of a key on P-256, which halves the cost of verifying its signatures.
///
/// A verification multiplies two points: the curve's generator and the key. OpenSSL supports a table for the generator
/// only; a copy of the curve with the key as its generator therefore gets a table for the key. Making a table takes as
/// long as about 500 verifications, and a table occupies 160 KiB, so it suits keys that verify thousands of
/// signatures. All numbers here are public, so no computation runs in constant time.
///
/// A table is immutable once made, so threads may share it: OpenSSL then only reads both curves.
@safe package final class P256KeyTable: @unchecked Sendable {
    /// The curve with its own generator, G.
    fileprivate let curve: Handle<Resource.Group>
    /// The same curve with the key, Q, as its generator.
    fileprivate let keyed: Handle<Resource.Group>

    /// Computes the table of a key.
    ///
    /// `nil` if this build of OpenSSL does not support such tables.
    package init?(key: P256PublicKey) {
        defer { ERR_clear_error() }
        let named = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        guard let curve = unsafe Handle<Resource.Group>(takingOwnershipOf: named),
            let keyed = unsafe Handle<Resource.Group>(takingOwnershipOf: EC_GROUP_dup(curve.pointer)),
            let point = unsafe Self.point(of: key, on: keyed.pointer),
            let scratch = unsafe Handle<Resource.NumberContext>(takingOwnershipOf: BN_CTX_new()),
            unsafe EC_GROUP_set_generator(
                keyed.pointer, point.pointer, EC_GROUP_get0_order(curve.pointer), EC_GROUP_get0_cofactor(curve.pointer))
                == 1, unsafe shim_group_precompute(keyed.pointer, scratch.pointer) == 1
        else { return nil }
        self.curve = curve
        self.keyed = keyed
    }

    private static func point(of key: P256PublicKey, on curve: OpaquePointer) -> Handle<Resource.Point>? {
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

/// ECDSA verification (FIPS 186-4 §6.4) with a key's table, in reused numbers and points.
///
/// OpenSSL computes every step but the inverse of s, which it checks. Only one thread at a time may use an object.
@safe final class P256TableVerification {
    private let table: P256KeyTable
    private let inverses: ScalarInverse
    private let scratch: Handle<Resource.NumberContext>
    private let sum: Handle<Resource.Point>
    private let keyTerm: Handle<Resource.Point>

    init(_ table: P256KeyTable) {
        guard let scratch = unsafe Handle<Resource.NumberContext>(takingOwnershipOf: BN_CTX_new()),
            let sum = unsafe Handle<Resource.Point>(takingOwnershipOf: EC_POINT_new(table.curve.pointer)),
            let keyTerm = unsafe Handle<Resource.Point>(takingOwnershipOf: EC_POINT_new(table.curve.pointer))
        else { preconditionFailure("out of memory for a verification") }
        self.table = table
        inverses = unsafe ScalarInverse(modulus: Self.order(of: table.curve.pointer).span.bytes)
        self.scratch = scratch
        self.sum = sum
        self.keyTerm = keyTerm
    }

    /// Whether r ‖ s (64 bytes) is the key's signature of a digest; false if r or s is out of range.
    ///
    /// `nil` if OpenSSL could not compute the result; OpenSSL's error queue is left empty.
    func isValid(_ signature: Span<UInt8>, over digest: SHA256Digest) -> Bool? {
        let context = unsafe scratch.pointer
        unsafe BN_CTX_start(context)
        defer { unsafe BN_CTX_end(context) }
        let words = digest.words
        guard let r = unsafe BN_CTX_get(context), let s = unsafe BN_CTX_get(context),
            let e = unsafe BN_CTX_get(context), let x = unsafe BN_CTX_get(context),
            let order = unsafe EC_GROUP_get0_order(table.curve.pointer),
            unsafe Self.read(signature.bytes.extracting(0..<32), into: r),
            unsafe Self.read(signature.bytes.extracting(32..<64), into: s), unsafe Self.read(words.span.bytes, into: e)
        else { return failed() }
        guard unsafe BN_is_zero(r) == 0 && BN_cmp(r, order) < 0, unsafe BN_is_zero(s) == 0 && BN_cmp(s, order) < 0
        else { return false }
        // `x` first holds 1/s, and then the x coordinate of the sum.
        guard unsafe invert(signature.bytes.extracting(32..<64), s, into: x, order: order),
            unsafe addProducts(e: e, r: r, inverse: x, order: order)
        else { return failed() }
        guard unsafe EC_POINT_is_at_infinity(table.curve.pointer, sum.pointer) == 0 else { return false }
        guard unsafe EC_POINT_get_affine_coordinates(table.curve.pointer, sum.pointer, x, nil, context) == 1,
            unsafe BN_nnmod(x, x, order, context) == 1
        else { return failed() }
        return unsafe BN_cmp(x, r) == 0
    }

    /// Sets `inverse` to 1/s modulo the order; overwrites `s`, whose bytes are also in `bytes`.
    ///
    /// OpenSSL's own inversion takes a third of a verification, so GMP computes the inverse. If the product of GMP's
    /// result and s is not 1, OpenSSL inverts: a wrong result of GMP is never used.
    private func invert(_ bytes: RawSpan, _ s: OpaquePointer, into inverse: OpaquePointer, order: OpaquePointer) -> Bool
    {
        let context = unsafe scratch.pointer
        if let found = inverses.inverse(of: bytes), unsafe Self.read(found.span.bytes, into: inverse),
            unsafe BN_mod_mul(s, s, inverse, order, context) == 1, unsafe BN_is_one(s) == 1
        {
            return true
        }
        return unsafe Self.read(bytes, into: s) && BN_mod_inverse(inverse, s, order, context) != nil
    }

    /// Sets `sum` to (e/s)·G + (r/s)·Q; overwrites `e`, and `inverse`, which is 1/s.
    private func addProducts(e: OpaquePointer, r: OpaquePointer, inverse: OpaquePointer, order: OpaquePointer) -> Bool {
        let context = unsafe scratch.pointer
        return unsafe BN_mod_mul(e, e, inverse, order, context) == 1
            && BN_mod_mul(inverse, r, inverse, order, context) == 1
            && EC_POINT_mul(table.curve.pointer, sum.pointer, e, nil, nil, context) == 1
            && EC_POINT_mul(table.keyed.pointer, keyTerm.pointer, inverse, nil, nil, context) == 1
            && EC_POINT_add(table.curve.pointer, sum.pointer, sum.pointer, keyTerm.pointer, context) == 1
    }

    /// The order of a curve's generator in 32 bytes, big-endian.
    private static func order(of curve: OpaquePointer) -> InlineArray<32, UInt8> {
        var order = InlineArray<32, UInt8>(repeating: 0)
        var span = order.mutableSpan
        let count = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe BN_bn2binpad(EC_GROUP_get0_order(curve), buffer.baseAddress, Int32(buffer.count))
        }
        precondition(count == 32, "the order of P-256 has 32 bytes")
        return order
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
