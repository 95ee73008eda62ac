import Testing

@testable import OpenSSL

/// RFC 7914, section 12.
@Suite struct ScryptTests {
    struct Vector: Sendable {
        let password: String
        let salt: String
        let numbers: (cost: Int, blockSize: Int, parallelization: Int)
        let hex: String
    }

    static let vectors = [
        Vector(
            password: "", salt: "", numbers: (16, 1, 1),
            hex: "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
                + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"),
        Vector(
            password: "password", salt: "NaCl", numbers: (1024, 8, 16),
            hex: "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
                + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"),
        Vector(
            password: "pleaseletmein", salt: "SodiumChloride", numbers: (16384, 8, 1),
            hex: "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"),
    ]

    @Test(arguments: vectors) func `the RFC's vectors`(vector: Vector) throws {
        let scrypt = try #require(
            Scrypt(
                cost: vector.numbers.cost, blockSize: vector.numbers.blockSize,
                parallelization: vector.numbers.parallelization))
        let derived = scrypt.derive(Array(vector.password.utf8), salt: Array(vector.salt.utf8), count: 64)
        #expect(derived?.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == vector.hex)
    }

    @Test(arguments: [(0, 8, 1), (1, 8, 1), (3, 8, 1), (16, 0, 1), (16, 8, 0), (1 << 22, 8, 1)])
    func `other parameters are refused`(cost: Int, blockSize: Int, parallelization: Int) {
        let scrypt = Scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization)
        #expect(scrypt == nil)
    }

    /// RFC 4231, test cases 2 and 6.
    @Test func `HMAC-SHA-256`() {
        let short = HMAC.sha256(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        #expect(short.hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let long = HMAC.sha256(
            key: [UInt8](repeating: 0xAA, count: 131),
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))
        #expect(long.hex == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test func `secrets are equal only byte for byte`() {
        #expect(SecretComparison.isEqual([1, 2], [1, 2]))
        #expect(SecretComparison.isEqual([], []))
        #expect(!SecretComparison.isEqual([1, 2], [1, 3]))
        #expect(!SecretComparison.isEqual([1, 2], [1]))
        #expect(RandomBytes.make(32) != RandomBytes.make(32))
    }
}
