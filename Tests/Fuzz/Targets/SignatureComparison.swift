import Foundation
import JSON
import OpenSSL
import Simulation

/// Verifies signatures in both ways that the product has, and ends the process where they differ.
///
/// Every input makes `comparisonsPerInput` comparisons or more, however short it is. Its bytes
/// choose a key and a message; from the good signature come others by arithmetic on r, s and the
/// digest: the second valid s, numbers at the limits of the range, single flipped bits, another
/// key, numbers chosen freely. Two of the keys are G and −G, for which a signature over any digest
/// is an addition, and for which the two points that a verification adds are equal or opposite at
/// will. An input that begins with `0xFF` gives a point, a digest, r and s besides.
final class SignatureComparison {
    /// A signature over a digest.
    private struct Claim {
        var digest: Scalar
        var r: Scalar
        var s: Scalar
    }

    /// Two verifiers of a key, without and with a table.
    private struct Pair {
        let plain: P256Verifier
        let tabled: P256Verifier

        init?(_ key: P256PublicKey?) {
            guard let key, let table = P256KeyTable(key: key) else { return nil }
            plain = P256Verifier(key: key)
            tabled = P256Verifier(key: key)
            tabled.use(table)
        }
    }

    static let comparisonsPerInput = 9
    private static let signersCount = 32
    private static let givenPairsMax = 64

    private let signers = (0..<signersCount).map(signer)
    private let pairs: [Pair]
    /// Pairs by the point that an input gave, kept because a new table costs too much time.
    private var givenPairs: [[UInt8]: Pair] = [:]
    private(set) var comparisonsCount = 0

    init() {
        pairs = signers.map { signer in
            guard let pair = Pair(signer.p256PublicKey) else {
                preconditionFailure("a key of the fuzz target has no table")
            }
            return pair
        }
    }

    func run(_ input: [UInt8]) {
        if input.first == 0xFF { compareGiven(input.dropFirst()) }
        var bytes = ByteStream(input)
        let number = Int(bytes.next()) % Self.signersCount
        let pair = pairs[number]
        let good = goodClaim(of: number, &bytes)
        compare(good, pair, isValid: true)
        var claim = good
        claim.s = good.s.negated
        compare(claim, pair, isValid: true)
        compare(good, pairs[(number + 1 + Int(bytes.next())) % Self.signersCount])
        for _ in 0..<2 {
            compare(flipped(good, &bytes), pair)
            compare(limited(good, &bytes), pair)
        }
        claim = Claim(digest: bytes.scalar(), r: bytes.scalar(), s: bytes.scalar())
        compare(claim, pair)
        // For G and −G the two points are equal or opposite here; one sum is infinity.
        claim.digest = bytes.next().isMultiple(of: 2) ? claim.r : claim.r.reduced.negated
        compare(claim, pair)
    }

    private func goodClaim(of number: Int, _ bytes: inout ByteStream) -> Claim {
        guard number > 1 else { return Self.claim(over: digest(&bytes), byGenerator: number == 0) }
        let message = bytes.next(32)
        guard let signature = try? signers[number].sign(message) else {
            preconditionFailure("a key of the fuzz target does not sign")
        }
        return Claim(
            digest: Scalar(SHA256.digest(message).bytes), r: Scalar(signature),
            s: Scalar(Array(signature.dropFirst(32))))
    }

    /// A valid signature over any digest e by G or −G, whose private numbers are d = 1 and
    /// d = n − 1: with the nonce 1 it is r = x(G), s = e + r·d.
    private static func claim(over digest: Scalar, byGenerator isGenerator: Bool) -> Claim {
        let r = Scalar.generatorX
        let s = digest.reduced.plusModuloOrder(isGenerator ? r : r.negated)
        // s = 0 is no signature; any other digest has one.
        guard s != .zero else { return claim(over: .one, byGenerator: isGenerator) }
        return Claim(digest: digest, r: r, s: s)
    }

    private func digest(_ bytes: inout ByteStream) -> Scalar { bytes.next() < 192 ? bytes.scalar() : limit(&bytes) }

    /// A number at one of the limits, or next to it.
    private func limit(_ bytes: inout ByteStream) -> Scalar {
        let exponent = Int(bytes.next())
        let limit = bytes.element(of: [
            .zero, .order, .largest, .generatorX, .generatorX.negated, Scalar(powerOfTwo: exponent),
            Scalar(powerOfTwo: exponent).minus(.one), Scalar(powerOfTwo: exponent).reduced.negated,
        ])
        let step = Scalar([UInt8](repeating: 0, count: 31) + [bytes.next() % 4])
        return bytes.next().isMultiple(of: 2) ? limit.plus(step).sum : limit.minus(step)
    }

    /// Flips a bit of the digest, r or s.
    private func flipped(_ good: Claim, _ bytes: inout ByteStream) -> Claim {
        let part = bytes.element(of: [\Claim.digest, \.r, \.s])
        var flipped = good[keyPath: part].bytes
        let bit = Int(bytes.next())
        flipped[bit / 8] ^= 1 << (bit % 8)
        var claim = good
        claim[keyPath: part] = Scalar(flipped)
        return claim
    }

    /// Replaces the digest, r or s by a limit, or adds n to it if 256 bits hold the sum.
    private func limited(_ good: Claim, _ bytes: inout ByteStream) -> Claim {
        let part = bytes.element(of: [\Claim.digest, \.r, \.s])
        var claim = good
        let (sum, overflows) = good[keyPath: part].plus(.order)
        let addsOrder = bytes.next() < 64 && !overflows
        claim[keyPath: part] = addsOrder ? sum : limit(&bytes)
        return claim
    }

    private func compareGiven(_ input: ArraySlice<UInt8>) {
        guard input.count >= 160 else { return }
        let point = Array(input.prefix(64))
        guard let pair = givenPair(point) else { return }
        let numbers = Array(input.dropFirst(64))
        let claim = Claim(digest: Scalar(numbers), r: Scalar(Array(numbers[32...])), s: Scalar(Array(numbers[64...])))
        compare(claim, pair)
    }

    private func givenPair(_ point: [UInt8]) -> Pair? {
        if let known = givenPairs[point] { return known }
        guard let pair = Pair(Self.key(point)) else { return nil }
        if givenPairs.count >= Self.givenPairsMax { givenPairs.removeAll() }
        givenPairs[point] = pair
        return pair
    }

    private func compare(_ claim: Claim, _ pair: Pair, isValid: Bool = false) {
        guard let digest = SHA256Digest(claim.digest.bytes) else { preconditionFailure("a digest has 32 bytes") }
        let signature = claim.r.bytes + claim.s.bytes
        let plain = pair.plain.verify(signature: signature, over: digest)
        let tabled = pair.tabled.verify(signature: signature, over: digest)
        precondition(plain == tabled, "OpenSSL says \(plain), the table \(tabled): \(signature) over \(digest.hex)")
        precondition(plain == .valid || !isValid, "a good signature is refused: \(signature)")
        comparisonsCount += 1
    }
}

extension SignatureComparison {
    /// A key whose private number is 1, n − 1, 2, n − 2, or a hash, so that an input means the
    /// same in every process.
    private static func signer(_ number: Int) -> PrivateKey {
        let two = Scalar.one.plus(.one).sum
        let chosen = [Scalar.one, .one.negated, two, two.negated]
        let scalar = number < chosen.count ? chosen[number].bytes : SHA256.digest(Array("signer \(number)".utf8)).bytes
        let der = DER.sequence([
            DER.integer(1), DER.octetString(scalar), DER.element(0xA0, DER.objectIdentifier("1.2.840.10045.3.1.7")),
        ])
        let label = "EC PRIVATE KEY"
        let text = """
            -----BEGIN \(label)-----
            \(Data(der).base64EncodedString(options: .lineLength64Characters))
            -----END \(label)-----

            """
        do throws(KeyError) { return try PrivateKey(pem: Array(text.utf8)) } catch {
            preconditionFailure("a key of the fuzz target does not parse: \(error)")
        }
    }

    private static func key(_ coordinates: [UInt8]) -> P256PublicKey? {
        let algorithm = DER.sequence([
            DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7"),
        ])
        let point = DER.bitString([0x04] + coordinates)
        return P256PublicKey(subjectPublicKeyInfo: DER.sequence([algorithm, point]))
    }

    /// The cases of the test suite, and one input for each key.
    static var seeds: [[UInt8]] {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../OpenSSLTests/Signatures/p256.json")
            let document = try JSONDocument(parsing: [UInt8](Data(contentsOf: file)))
            let cases = document.root["cases"]?.elements ?? document.root.elements
            let given = cases.map { item in
                let parts = ["key", "digest", "signature"].map { bytes(hex: item[$0]?.string) }
                return [0xFF] + parts[0].dropFirst() + parts[1] + parts[2]
            }
            return given + (0..<UInt8(signersCount)).map { [$0] }
        }
    }

    private static func bytes(hex: String?) -> [UInt8] {
        let digits = Array((hex ?? "").utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
    }
}
