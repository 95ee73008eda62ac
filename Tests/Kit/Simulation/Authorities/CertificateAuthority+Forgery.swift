package import OpenSSL

extension CertificateAuthority {
    /// A JWS of `payload` that must be refused, for exactly one reason.
    package func forge(_ payload: [UInt8], _ forgery: Forgery) throws(KeyError) -> [UInt8] {
        switch forgery {
        case .algorithmNone: return try sign(payload, headerSegment: header(algorithm: "none"))
        case .algorithmHS256: return try sign(payload, headerSegment: header(algorithm: "HS256"))
        case .withoutCertificates:
            return try sign(payload, headerSegment: Base64Text.url(Array(#"{"alg":"ES256"}"#.utf8)))
        case .criticalMember: return try sign(payload, headerSegment: header(trailing: #","crit":["exp"]"#))
        case .unencodedPayload: return try sign(payload, headerSegment: header(trailing: #","b64":false"#))
        case .truncated: return Array(try sign(payload).dropLast(40))
        case .fourSegments: return try sign(payload) + Array(".AAAA".utf8)
        case .paddedSegment: return try sign(payload) + [UInt8(ascii: "=")]
        case .flippedPayload: return try flippingPayload(of: payload)
        case .flippedSignature, .foreignKey, .zeroR, .highestS, .signatureInDER, .shortSignature, .longSignature:
            let signed = headerSegment + [UInt8(ascii: ".")] + Base64Text.url(payload)
            let signature = try forgedSignature(over: signed, forgery)
            return signed + [UInt8(ascii: ".")] + Base64Text.url(signature)
        }
    }

    /// The genuine signature over other bytes: one character of the payload segment is changed.
    private func flippingPayload(of payload: [UInt8]) throws(KeyError) -> [UInt8] {
        var other = payload
        // A digit becomes another one, so that the payload stays JSON of the same kind.
        if let index = other.lastIndex(where: { (0x31...0x38).contains($0) }) { other[index] += 1 }
        let signed = headerSegment + [UInt8(ascii: ".")] + Base64Text.url(payload)
        let shown = headerSegment + [UInt8(ascii: ".")] + Base64Text.url(other)
        return shown + [UInt8(ascii: ".")] + Base64Text.url(try leafKey.sign(signed))
    }

    private func forgedSignature(over signed: [UInt8], _ forgery: Forgery) throws(KeyError) -> [UInt8] {
        var signature = try leafKey.sign(signed)
        switch forgery {
        case .flippedSignature: signature[40] ^= 0x10
        case .foreignKey: signature = try PrivateKey.generate(.p256).sign(signed)
        case .zeroR: signature.replaceSubrange(..<32, with: repeatElement(0, count: 32))
        case .highestS: signature.replaceSubrange(32..., with: repeatElement(0xFF, count: 32))
        case .signatureInDER: signature = try leafKey.sign(signed, digest: .sha256)
        case .shortSignature: signature.removeLast()
        case .longSignature: signature.append(0)
        default: break
        }
        return signature
    }

    private func header(algorithm: String = "ES256", trailing: String = "") -> [UInt8] {
        Self.headerSegment(algorithm: algorithm, certificates: chain, trailing: trailing)
    }
}

/// A fault of a JWS whose certificates are good.
package enum Forgery: String, CaseIterable, Sendable {
    case flippedSignature
    case flippedPayload
    /// A signature by the forger's own key, under the genuine header.
    case foreignKey
    case algorithmNone
    case algorithmHS256
    case zeroR
    case highestS
    case signatureInDER
    case shortSignature
    case longSignature
    case truncated
    case fourSegments
    case paddedSegment
    case withoutCertificates
    case criticalMember
    case unencodedPayload
}
