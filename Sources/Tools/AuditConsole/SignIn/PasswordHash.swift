import Foundation
import OpenSSL

/// A stored password: `scrypt$N$r$p$salt$hash`, salt and hash in base64.
package struct PasswordHash: Hashable, Sendable, CustomStringConvertible {
    let parameters: Scrypt
    let salt: [UInt8]
    let hash: [UInt8]

    /// The cost of new hashes, which take 64 MiB.
    ///
    /// OWASP's Password Storage Cheat Sheet rates it equal to N = 2¹⁷, r = 8, p = 1, which needs
    /// twice the memory.
    static let strength = Scrypt(cost: 1 << 16, blockSize: 8, parallelization: 2)
    /// Minimum cost of a stored hash; this program writes none below it.
    static let costMin = 1 << 14
    static let saltBytes = 16
    static let hashBytes = 32
    /// Maximum size of a password, so that no request makes the server hash megabytes.
    package static let passwordBytesMax = 1024

    /// Hashes a password with a new salt.
    ///
    /// Blocks for about half a second. Returns `nil` if memory is lacking.
    package static func make(_ password: String) -> PasswordHash? { make(password, strength: strength) }

    static func make(_ password: String, strength: Scrypt?) -> PasswordHash? {
        let salt = RandomBytes.make(saltBytes)
        guard let strength, let hash = strength.derive(normalized(password), salt: salt, count: hashBytes) else {
            return nil
        }
        return PasswordHash(parameters: strength, salt: salt, hash: hash)
    }

    /// The password in Unicode's form NFC (RFC 8265 §4.2.2), because the bytes of an "é" depend on
    /// the keyboard and the browser.
    private static func normalized(_ password: String) -> [UInt8] {
        Array(password.precomposedStringWithCanonicalMapping.utf8)
    }
}

extension PasswordHash {
    /// Parses a stored hash.
    ///
    /// `nil` if it is malformed, too weak or too costly.
    package init?(_ text: some StringProtocol) {
        let parts = String(text).split(separator: "$", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 6, parts[0] == "scrypt", let cost = Int(parts[1]), let blockSize = Int(parts[2]),
            let parallelization = Int(parts[3]),
            let parameters = Scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization),
            cost >= Self.costMin, let salt = Data(base64Encoded: parts[4]), (8...64).contains(salt.count),
            let hash = Data(base64Encoded: parts[5]), (32...64).contains(hash.count)
        else { return nil }
        self.init(parameters: parameters, salt: Array(salt), hash: Array(hash))
    }

    /// The text that is stored.
    package var encoded: String {
        let numbers = [parameters.cost, parameters.blockSize, parameters.parallelization]
        let texts = numbers.map { String($0) } + [salt, hash].map { Data($0).base64EncodedString() }
        return "scrypt$" + texts.joined(separator: "$")
    }

    /// A constant, so that a printed user does not reveal the bytes of salt and hash.
    package var description: String { "scrypt$…" }

    /// Whether this is the password.
    ///
    /// Blocks as long as `make`, and compares in constant time. `nil` if memory is lacking.
    func matches(_ password: String) -> Bool? {
        guard let derived = parameters.derive(Self.normalized(password), salt: salt, count: hash.count) else {
            return nil
        }
        return SecretComparison.isEqual(derived, hash)
    }

    /// A random hash of the same cost, so that refusing an unknown user takes as long as refusing a wrong password.
    var decoy: PasswordHash { PasswordHash(parameters: parameters, salt: salt, hash: RandomBytes.make(hash.count)) }
}
