import JSON
import OpenSSL

/// A JOSE header, as far as it decides anything: `x5c`, once `alg` has been found to be ES256.
///
/// `typ`, `kid`, `jwk`, `jku` and `x5u` are not looked at: nothing in the header selects a key.
struct JWSHeader {
    /// The decoded entries of `x5c`, leaf first; X.509 has not been looked at.
    let certificates: [[UInt8]]

    init(
        decoding bytes: [UInt8],
        acceptsSingleCertificate: Bool,
        limits: VerifierLimits
    ) throws(Fault) {
        let root = try Self.object(bytes, limits)
        guard root["alg"]?.isString("ES256") == true else {
            throw Fault(.algorithmNotAllowed, "the header's alg is not ES256")
        }
        guard let chain = root["x5c"], chain.kind == .array else {
            throw Fault(.x5cMissing, "the header has no x5c array")
        }
        guard chain.count == 3 || (chain.count == 1 && acceptsSingleCertificate) else {
            throw Fault(.x5cLength, "x5c holds \(chain.count) certificates instead of 3")
        }
        var certificates: [[UInt8]] = []
        for entry in chain.elements {
            certificates.append(try Self.certificate(entry, limits))
        }
        self.certificates = certificates
    }

    private static func object(
        _ bytes: [UInt8],
        _ limits: VerifierLimits
    ) throws(Fault) -> JSONValue {
        let root: JSONValue
        do throws(JSONError) {
            root = try limits.read(bytes)
        } catch {
            throw Fault(.jwsMalformed, "the header is no acceptable JSON: \(error)")
        }
        guard root.kind == .object else {
            throw Fault(.jwsMalformed, "the header is no JSON object")
        }
        guard root["crit"] == nil else {
            throw Fault(.jwsMalformed, "the header has crit, and no extension is understood")
        }
        guard root["b64"] == nil else {
            throw Fault(.jwsMalformed, "the header has b64, which changes what is signed")
        }
        return root
    }

    private static func certificate(
        _ entry: JSONValue,
        _ limits: VerifierLimits
    ) throws(Fault) -> [UInt8] {
        guard let text = entry.stringBytes else {
            throw Fault(.certificateMalformed, "an entry of x5c is no string")
        }
        guard text.count <= (limits.certificateBytesMax + 2) / 3 * 4 else {
            throw Fault(.certificateMalformed, "a certificate is too large")
        }
        guard let der = Base64.standard.decode(text.span) else {
            throw Fault(.certificateMalformed, "an entry of x5c is no standard base64")
        }
        guard der.count <= limits.certificateBytesMax else {
            throw Fault(.certificateMalformed, "a certificate is too large")
        }
        return der
    }
}
