import Foundation
import JSON
import OpenSSL

/// Judges a signature in both ways that the product has, and ends the process where they differ.
///
/// An input is one of two things by its first byte. Even: a key (x and y), a digest, r and s, all
/// mutated freely. Odd: which of the keys here signs, which of them verifies, and what is flipped
/// of digest and signature on the way, so that good signatures come up as often as bad ones.
final class SignatureComparison {
    /// Both ways of one key.
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

    private static let signersCount = 64
    private static let pairsMax = 256
    private lazy var signers = (0..<Self.signersCount).map(Self.signer)
    /// By point, or by the number of the signer; a table takes too long to be made each time.
    private var pairs: [[UInt8]: Pair] = [:]

    func run(_ input: [UInt8]) {
        guard let kind = input.first else { return }
        if kind.isMultiple(of: 2) {
            runGiven(input.dropFirst())
        } else {
            runSigned(input.dropFirst())
        }
    }

    private func runGiven(_ input: ArraySlice<UInt8>) {
        guard input.count >= 96 else { return }
        let point = Array(input.prefix(64))
        guard let pair = pair(point, Self.key(point)),
            let digest = SHA256Digest(input.dropFirst(64).prefix(32))
        else { return }
        compare(Array(input.dropFirst(96).prefix(64)), digest, pair)
    }

    private func pair(_ name: [UInt8], _ key: @autoclosure () -> P256PublicKey?) -> Pair? {
        if let known = pairs[name] { return known }
        guard let pair = Pair(key()) else { return nil }
        if pairs.count >= Self.pairsMax { pairs.removeAll() }
        pairs[name] = pair
        return pair
    }

    private func runSigned(_ input: ArraySlice<UInt8>) {
        let bytes = Array(input)
        guard bytes.count >= 3 else { return }
        let signer = Int(bytes[0]) % Self.signersCount
        let verifier = (signer + Int(bytes[1])) % Self.signersCount
        guard let pair = pair([UInt8(verifier)], signers[verifier].p256PublicKey) else {
            preconditionFailure("a key of this machine has no table")
        }
        let message = Array(bytes[2..<min(bytes.count, 34)])
        guard var signature = try? signers[signer].sign(message) else {
            preconditionFailure("a key of this machine does not sign")
        }
        let isUntouched = bytes.dropFirst(34).allSatisfy { $0 == 0 }
        for (index, flipped) in bytes.dropFirst(34).prefix(64).enumerated() {
            signature[index] ^= flipped
        }
        let check = compare(signature, SHA256.digest(message), pair)
        precondition(
            check == .valid || !isUntouched || signer != verifier,
            "a good signature is refused"
        )
    }

    @discardableResult
    private func compare(
        _ signature: [UInt8],
        _ digest: SHA256Digest,
        _ pair: Pair
    ) -> SignatureCheck {
        let plain = pair.plain.verify(signature: signature, over: digest)
        let tabled = pair.tabled.verify(signature: signature, over: digest)
        precondition(
            plain == tabled,
            "OpenSSL says \(plain), the table \(tabled): \(signature) over \(digest.hex)"
        )
        return plain
    }
}

extension SignatureComparison {
    /// A key whose private number is a hash, so that an input means the same in every process.
    private static func signer(_ number: Int) -> PrivateKey {
        let scalar = SHA256.digest(Array("signer \(number)".utf8)).bytes
        let der = DER.sequence([
            DER.integer(1), DER.octetString(scalar),
            DER.element(0xA0, DER.objectIdentifier("1.2.840.10045.3.1.7")),
        ])
        let label = "EC PRIVATE KEY"
        let text = """
            -----BEGIN \(label)-----
            \(Data(der).base64EncodedString(options: .lineLength64Characters))
            -----END \(label)-----

            """
        do throws(KeyError) {
            return try PrivateKey(pem: Array(text.utf8))
        } catch {
            preconditionFailure("a key of the fuzz target does not parse: \(error)")
        }
    }

    private static func key(_ coordinates: [UInt8]) -> P256PublicKey? {
        let algorithm = DER.sequence([
            DER.objectIdentifier("1.2.840.10045.2.1"),
            DER.objectIdentifier("1.2.840.10045.3.1.7"),
        ])
        let point = DER.bitString([0x04] + coordinates)
        return P256PublicKey(subjectPublicKeyInfo: DER.sequence([algorithm, point]))
    }

    /// The cases of the test suite, and signatures of each key under it and under its neighbour.
    static var seeds: [[UInt8]] {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../OpenSSLTests/Signatures/p256.json")
            let document = try JSONDocument(parsing: [UInt8](Data(contentsOf: file)))
            var seeds: [[UInt8]] = []
            for item in document.root["cases"]?.elements ?? document.root.elements {
                let parts = ["key", "digest", "signature"].map { bytes(hex: item[$0]?.string) }
                seeds.append([0] + parts[0].dropFirst() + parts[1] + parts[2])
            }
            for signer in 0..<UInt8(signersCount) {
                let message = [UInt8](repeating: 7, count: 32)
                seeds += [[1, signer, 0] + message, [1, signer, 1] + message]
            }
            return seeds
        }
    }

    private static func bytes(hex: String?) -> [UInt8] {
        let digits = Array((hex ?? "").utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
    }
}
