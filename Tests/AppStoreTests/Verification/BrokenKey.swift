import OpenSSL
import Simulation

/// Public keys (SubjectPublicKeyInfo) that are no point of the curve that they name.
enum BrokenKey {
    enum Curve {
        case p256
        case p384

        fileprivate var oid: String { self == .p256 ? "1.2.840.10045.3.1.7" : "1.3.132.0.34" }

        fileprivate var bytes: Int { self == .p256 ? 32 : 48 }
    }

    /// The point at infinity is one byte (SEC 1 §2.3.3).
    static func atInfinity(_ curve: Curve) -> [UInt8] { key(curve, [0]) }

    /// A genuine key with another last bit.
    static func offCurve(of key: PrivateKey) -> [UInt8] {
        var bytes = key.subjectPublicKeyInfo
        bytes[bytes.count - 1] ^= 1
        return bytes
    }

    /// An x at which the curve has no point.
    static func offCurveCompressed(_ curve: Curve) -> [UInt8] {
        let x = [UInt8](repeating: 0, count: curve.bytes - 1) + [curve == .p256 ? 1 : 4]
        return key(curve, [2] + x)
    }

    private static func key(_ curve: Curve, _ point: [UInt8]) -> [UInt8] {
        let algorithm = DER.sequence([DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier(curve.oid)])
        return DER.sequence([algorithm, DER.bitString(point)])
    }
}
