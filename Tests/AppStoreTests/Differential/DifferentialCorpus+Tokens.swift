import AppStore
import OpenSSL
import Simulation

extension DifferentialCorpus {
    private static let dot = UInt8(ascii: ".")

    /// Segments of two tokens mixed, doubled, left out, cut or with invalid characters.
    mutating func resegmented(_ kind: PayloadKind) throws -> DifferentialBody {
        var segments = try token(kind).split(separator: Self.dot).map { Array($0) }
        let other = try token(pick(Self.kinds)).split(separator: Self.dot).map { Array($0) }
        let place = Int.random(in: 0..<3, using: &random)
        let name: String
        switch Int.random(in: 0..<9, using: &random) {
        case 0:
            segments.swapAt(place, (place + 1) % 3)
            name = "segments swapped"
        case 1:
            segments[place] = other[place]
            name = "segment of another token"
        case 2:
            segments.remove(at: place)
            name = "segment missing"
        case 3:
            segments.insert(segments[place], at: place)
            name = "segment doubled"
        case 4:
            segments[place] = []
            name = "segment empty"
        case 5:
            segments[place].removeLast(Int.random(in: 1...3, using: &random))
            name = "segment cut"
        case 6:
            segments[place] += Array(pick(["=", "==", "A", "AA", "%3D"]).utf8)
            name = "segment extended"
        case 7:
            let character = pick(Array(" \n\t+/=!".utf8))
            let index = Int.random(in: 0...segments[place].count, using: &random)
            segments[place].insert(character, at: index)
            name = "foreign character in a segment"
        default:
            segments[2] = try forgedSignature(segments)
            name = "signature of another form"
        }
        return body(kind, Array(segments.joined(separator: [Self.dot])), name)
    }

    private mutating func forgedSignature(_ segments: [[UInt8]]) throws -> [UInt8] {
        let signed = segments[0] + [Self.dot] + segments[1]
        let key = authorities.good.leafKey
        var signature = try key.sign(signed)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: signature = try key.sign(signed, digest: .sha256)
        case 1: signature.replaceSubrange(..<32, with: [UInt8](repeating: 0, count: 32))
        case 2: signature.replaceSubrange(32..., with: [UInt8](repeating: 0xFF, count: 32))
        case 3: signature.removeLast()
        case 4: signature.append(0)
        default: signature = Array(signature[32...] + signature[..<32])
        }
        return Base64Text.url(signature)
    }

    /// A body signed by a defective authority, or with other certificates in the header.
    mutating func recertified(_ kind: PayloadKind) throws -> DifferentialBody {
        let payload = payload(kind)
        if Bool.random(using: &random) {
            let (name, authority) = pick(authorities.defective)
            return body(kind, try authority.sign(payload), name)
        }
        let good = authorities.good
        var chain = good.chain
        let place = Int.random(in: 0..<3, using: &random)
        let name: String
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            chain.swapAt(place, (place + 1) % 3)
            name = "certificates swapped"
        case 1:
            chain = Array(chain.prefix(place))
            name = "certificates missing"
        case 2:
            chain.insert(chain[place], at: place)
            name = "certificate doubled"
        case 3:
            chain[place] =
                [authorities.foreign.leaf, authorities.foreign.intermediate, authorities.foreign.root][place]
            name = "certificate \(place) of another authority"
        case 4:
            chain[place] = Array("abc123".utf8)
            name = "certificate \(place) is no certificate"
        case 5:
            chain[place] += [0, 0]
            name = "certificate \(place) with trailing bytes"
        case 6:
            let index = Int.random(in: chain[place].indices, using: &random)
            chain[place][index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            name = "certificate \(place) with a flipped bit"
        default: return body(kind, try authorities.foreign.sign(payload), "foreign authority")
        }
        let header = CertificateAuthority.headerSegment(certificates: chain)
        return body(kind, try good.sign(payload, headerSegment: header), name)
    }

    /// A body whose header has another member, or another `alg`, under a good signature.
    mutating func reheaded(_ kind: PayloadKind) throws -> DifferentialBody {
        let good = authorities.good
        let chain = good.chain
        let payload = payload(kind)
        if Int.random(in: 0..<3, using: &random) == 0 {
            let algorithm = pick(["none", "HS256", "ES384", "es256", "RS256", "", "ES256 "])
            let header = CertificateAuthority.headerSegment(algorithm: algorithm, certificates: chain)
            let token = try good.sign(payload, headerSegment: header)
            return body(kind, token, "algorithm \(algorithm)")
        }
        let member = pick([
            #""typ":"JWT""#, #""typ":7"#, #""kid":"x""#, #""kid":7"#, #""crit":["exp"]"#, #""crit":null"#,
            #""b64":false"#, #""b64":true"#, #""jwk":{}"#, #""alg":"ES256""#, #""x5c":[]"#, #""cty":"a""#, #""a":NaN"#,
            #""x5u":"https://example.com""#,
        ])
        let header = CertificateAuthority.headerSegment(certificates: chain, trailing: "," + member)
        let token = try good.sign(payload, headerSegment: header)
        return body(kind, token, "header \(member)")
    }
}
