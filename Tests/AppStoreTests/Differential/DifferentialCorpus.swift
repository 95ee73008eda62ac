import AppStore
import OpenSSL
import Simulation

/// Bodies minted and mutated from a seed: the same kinds of body in the same order each time.
struct DifferentialCorpus {
    static let kinds = PayloadKind.allCases

    let authorities: DifferentialAuthorities
    var random: SeededGenerator

    init(seed: UInt64) throws {
        authorities = try DifferentialAuthorities()
        random = SeededGenerator(seed: seed)
    }

    mutating func bodies(count: Int) throws -> [DifferentialBody] { try (0..<count).map { _ in try next() } }

    private mutating func next() throws -> DifferentialBody {
        let kind = pick(Self.kinds)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<12: return try whole(kind)
        case 12..<30: return try flipped(kind)
        case 30..<42: return try resegmented(kind)
        case 42..<60: return try recertified(kind)
        case 60..<74: return try redated(kind)
        case 74..<80: return try confused(kind)
        case 80..<86: return try reheaded(kind)
        default: return try refielded(kind)
        }
    }

    mutating func pick<Choice>(_ choices: [Choice]) -> Choice {
        choices[Int.random(in: choices.indices, using: &random)]
    }

    func body(_ kind: PayloadKind, _ token: [UInt8], _ mutation: String) -> DifferentialBody {
        DifferentialBody(kind: kind, token: token, mutation: mutation)
    }

    mutating func token(_ kind: PayloadKind) throws -> [UInt8] { try authorities.good.sign(payload(kind)) }

    /// A good body for a configured app and environment, or for another.
    private mutating func whole(_ kind: PayloadKind) throws -> DifferentialBody {
        let isForUs = Int.random(in: 0..<3, using: &random) > 0
        let payload = payload(kind, isForUs: isForUs)
        let name = isForUs ? "whole" : "whole, for whichever app"
        return body(kind, try authorities.good.sign(payload), name)
    }

    /// Flips one to three bits anywhere in the token.
    private mutating func flipped(_ kind: PayloadKind) throws -> DifferentialBody {
        var token = try token(kind)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: token.indices, using: &random)
            token[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        return body(kind, token, "bits flipped")
    }

    private mutating func confused(_ kind: PayloadKind) throws -> DifferentialBody {
        let other = pick(Self.kinds)
        let name = other == kind ? "whole" : "another kind in its place"
        return body(kind, try token(other), name)
    }
}
