import JSON

/// The three segments of a compact JWS (RFC 7515 §3.1), as ranges of its token's bytes.
struct CompactJWS {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// The signed bytes: header, dot and payload.
    var signed: Range<Int> { header.lowerBound..<payload.upperBound }

    /// - Parameter headerEnd: the position of the first dot, if known.
    init(_ token: Token, headerEnd: Int? = nil) throws(Fault) {
        let bytes = token.bytes
        let dot = UInt8(ascii: ".")
        let range = token.range
        guard let first = headerEnd ?? ByteSearch.first(dot, in: bytes.span, range),
            let second = ByteSearch.first(dot, in: bytes.span, first + 1..<range.upperBound)
        else { throw Fault(.jwsMalformed, "the compact JWS has fewer than three segments") }
        let third = ByteSearch.first(dot, in: bytes.span, second + 1..<range.upperBound)
        guard third == nil else { throw Fault(.jwsMalformed, "the compact JWS has more than three segments") }
        header = range.lowerBound..<first
        payload = first + 1..<second
        signature = second + 1..<range.upperBound
    }
}

/// The unparsed text of a compact JWS: a range of a body, or of the payload that contains it.
struct Token {
    let bytes: [UInt8]
    let range: Range<Int>

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// Reads the text of a JSON string, with its escapes replaced.
    ///
    /// `nil` for anything but a string.
    init?(_ value: JSONValue) {
        if let range = value.plainStringRange {
            self.init(value.documentBytes, range)
        } else if let decoded = value.stringBytes {
            self.init(decoded, decoded.indices)
        } else {
            return nil
        }
    }
}

/// The relevant part of a JOSE header: `x5c`, after `alg` was checked to be ES256.
///
/// `typ`, `kid`, `jwk`, `jku` and `x5u` are ignored: nothing in the header selects a key.
struct JWSHeader {
    /// The decoded, unparsed entries of `x5c`, leaf first.
    let certificates: [[UInt8]]

    init(decoding bytes: [UInt8], acceptsSingleCertificate: Bool, limits: VerifierLimits) throws(Fault) {
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
        for entry in chain.elements { certificates.append(try Self.certificate(entry, limits)) }
        self.certificates = certificates
    }

    private static func object(_ bytes: [UInt8], _ limits: VerifierLimits) throws(Fault) -> JSONValue {
        let root: JSONValue
        do throws(JSONError) { root = try limits.read(bytes) } catch {
            throw Fault(.jwsMalformed, "the header is not acceptable JSON: \(error)")
        }
        guard root.kind == .object else { throw Fault(.jwsMalformed, "the header is not a JSON object") }
        guard root["crit"] == nil else {
            throw Fault(.jwsMalformed, "the header has crit, but no extension is supported")
        }
        guard root["b64"] == nil else { throw Fault(.jwsMalformed, "the header has b64, which changes what is signed") }
        return root
    }

    private static func certificate(_ entry: JSONValue, _ limits: VerifierLimits) throws(Fault) -> [UInt8] {
        guard let text = entry.stringBytes else {
            throw Fault(.certificateMalformed, "an entry of x5c is not a string")
        }
        guard text.count <= (limits.certificateBytesMax + 2) / 3 * 4 else {
            throw Fault(.certificateMalformed, "a certificate is too large")
        }
        guard let der = Base64.standard.decode(text.span) else {
            throw Fault(.certificateMalformed, "an entry of x5c is not standard base64")
        }
        guard der.count <= limits.certificateBytesMax else {
            throw Fault(.certificateMalformed, "a certificate is too large")
        }
        return der
    }
}
