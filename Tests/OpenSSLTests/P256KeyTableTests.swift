import Testing

@testable import OpenSSL

/// A signature is verified alike by OpenSSL's own verification and by a table of the key.
struct P256KeyTableTests {
    /// Two verifiers of a key, without and with a table.
    struct Pair {
        let plain: P256Verifier
        let tabled: P256Verifier
        let table: P256TableVerification

        init(_ key: P256PublicKey) throws {
            let table = try #require(P256KeyTable(key: key))
            self.init(key, table)
        }

        init(_ key: P256PublicKey, _ table: P256KeyTable) {
            plain = P256Verifier(key: key)
            tabled = P256Verifier(key: key)
            tabled.use(table)
            self.table = P256TableVerification(table)
        }

        /// The answer of OpenSSL's own verification.
        ///
        /// `nil` if the two differ.
        ///
        /// The table is asked itself too: of r and s that no verifier hands on to it.
        func check(_ signature: [UInt8], _ digest: SHA256Digest) -> SignatureCheck? {
            let expected = plain.verify(signature: signature, over: digest)
            let isAlike =
                tabled.verify(signature: signature, over: digest) == expected
                && table.isValid(signature.span, over: digest) == (expected == .valid)
            return isAlike ? expected : nil
        }
    }

    @Test func `cases at the ends have their verdict`() throws {
        for item in try P256Case.all.get() {
            let check = try Pair(item.key).check(item.signature, item.digest)
            let verdict = try #require(check, "the two ways differ: \(item.name)")
            #expect((verdict == .valid) == item.isValid, "\(item.name)")
        }
    }

    @Test func `one flipped bit of digest or signature makes no difference`() throws {
        var checked = 0
        var valid = 0
        for item in try P256Case.all.get() {
            let pair = try Pair(item.key)
            let bytes = item.digest.bytes + item.signature
            for bit in 0..<bytes.count * 8 {
                var flipped = bytes
                flipped[bit / 8] ^= 1 << UInt8(bit % 8)
                let digest = try #require(SHA256Digest(Array(flipped[..<32])))
                let check = pair.check(Array(flipped[32...]), digest)
                try #require(check != nil, "the two ways differ: \(item.name), bit \(bit)")
                valid += check == .valid ? 1 : 0
                checked += 1
            }
        }
        // (n − 1)/2 and (n + 1)/2 are one bit apart, and each is the other's n − s.
        #expect(checked > 25_000 && valid == 2)
    }

    @Test func `r and s at every boundary make no difference`() throws {
        let numbers = try Self.boundaries.map { try P256Case.bytes(hex: $0) }
        for item in try P256Case.all.get().prefix(12) {
            let pair = try Pair(item.key)
            let (own, other) = (item.signature[..<32], item.signature[32...])
            for first in numbers + [Array(own), Array(other)] {
                for second in numbers + [Array(own), Array(other)] {
                    let check = pair.check(first + second, item.digest)
                    try #require(check != nil, "the two ways differ: \(item.name), \(first)")
                    #expect(check != .valid || item.isValid)
                }
            }
        }
    }

    @Test func `the key, the digest and the signature of different cases make no difference`() throws {
        let cases = try P256Case.all.get()
        for (number, item) in cases.enumerated() where number.isMultiple(of: 4) {
            let pair = try Pair(item.key)
            for digest in cases.map(\.digest) {
                for signature in cases.map(\.signature) {
                    try #require(pair.check(signature, digest) != nil, "\(item.name)")
                }
            }
        }
    }

    @Test func `recreated keys make no difference`() throws {
        for number in 0..<20 {
            let key = try PrivateKey.generate(.p256)
            let pair = try Pair(#require(key.p256PublicKey))
            let stranger = try PrivateKey.generate(.p256)
            for record in 0..<20 {
                let message = Array("record \(number) \(record)".utf8)
                let digest = SHA256.digest(message)
                #expect(pair.check(try key.sign(message), digest) == .valid)
                #expect(pair.check(try stranger.sign(message), digest) == .invalid)
            }
        }
    }

    @Test func `threads share a table`() async throws {
        let cases = try P256Case.all.get()
        let key = try #require(cases.first?.key)
        let table = try #require(P256KeyTable(key: key))
        let sound = cases.filter { $0.point == cases[0].point }
        try #require(sound.count > 10)
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { Self.countOfWrong(sound, Pair(key, table)) } }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }

    private static func countOfWrong(_ cases: [P256Case], _ pair: Pair) -> Int {
        (0..<20).reduce(0) { count, _ in
            count + cases.count { item in (pair.check(item.signature, item.digest) == .valid) != item.isValid }
        }
    }

    /// 0, 1 and 2, and what surrounds n, n/2, p − n, p and 2²⁵⁶.
    private static let boundaries = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000001",
        "0000000000000000000000000000000000000000000000000000000000000002",
        "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8",
        "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a9",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552",
        "000000000000000000000000000000004319055358e8617b0c46353d039cdaad",
        "000000000000000000000000000000004319055358e8617b0c46353d039cdaae",
        "000000000000000000000000000000004319055358e8617b0c46353d039cdaaf",
        "ffffffff00000001000000000000000000000000fffffffffffffffffffffffe",
        "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
        "ffffffff00000001000000000000000000000001000000000000000000000000",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ]
}
