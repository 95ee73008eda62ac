import JSON
import OpenSSL

extension Verifier {
    /// Verifies one JWS by every rule that concerns only this JWS, in order.
    ///
    /// - Parameter isPart: whether the JWS is one of several in a response; an unknown kind must then not affect the
    ///   others.
    func verify(_ token: Token, expecting kind: PayloadKind?, isPart: Bool) throws(Fault) -> GenuineJWS {
        trail.begin(token)
        let known = chains.chain(beginning: token)
        let jws = try CompactJWS(token, headerEnd: known?.headerEnd)
        var header: [UInt8] = []
        if known == nil { header = try decodeHeader(jws, token) }
        let payload = try decode(jws.payload, token, of: "payload")
        trail.record(decoded: payload)
        let signature = try decode(jws.signature, token, of: "signature")
        guard signature.count == 64 else {
            throw Fault(.jwsMalformed, "the signature has \(signature.count) bytes instead of 64")
        }
        let chain: VerifiedChain
        if let known { chain = known.chain } else { chain = try verifyChain(header) }
        trail.record(chain: chain.certificates)
        try checkPurpose(of: chain)
        try check(signature, of: jws, in: token, by: chain, after: known?.beginning)
        if known == nil {
            chains.insert(chain, for: token.bytes[jws.header])
            configuration.observer?.observed(chain.path)
        }
        // After this line the payload is known to be signed by a trusted key.
        let json = try parse(payload)
        trail.record(payload: json)
        return try interpret(json, of: token, chain, expecting: kind, isPart: isPart)
    }

    private func interpret(
        _ json: JSONValue, of token: Token, _ chain: VerifiedChain, expecting kind: PayloadKind?, isPart: Bool
    ) throws(Fault) -> GenuineJWS {
        guard let fields = try SignedFields(json) else {
            guard isPart else { throw Fault(.payloadMalformed, "the payload is of no known kind") }
            // The payload's date and app have the same positions as in a notification.
            let fields = NotificationPayload(json)
            let anchors = try anchors(of: chain, at: fields.signedDate).anchors
            _ = try vouching(forNotification: fields, anchors)
            return .unknown(holding: [])
        }
        let (signedDate, anchors) = try anchors(of: chain, at: fields.signedDate)
        if let kind, kind != fields.kind {
            throw Fault(.payloadMalformed, "a \(fields.kind.rawValue) where a \(kind.rawValue) belongs")
        }
        try fields.checkRequired(json)
        guard let vouching = try vouching(for: fields, anchors) else { return .unknown(holding: fields.signedItems) }
        return .statement(
            SignedStatement(
                token: token, json: json, fields: fields, signedDate: signedDate, chain: chain, vouching: vouching))
    }

    private func anchors(of chain: VerifiedChain, at date: Timestamp?) throws(Fault) -> (
        signedDate: Timestamp, anchors: [Anchor]
    ) {
        guard let signedDate = date else { throw Fault(.payloadMalformed, "the payload has no signed date") }
        return (signedDate, try anchors(of: chain, at: signedDate))
    }

    /// Refuses a chain whose certificates are not meant for App Store data.
    func checkPurpose(of chain: VerifiedChain) throws(Fault) {
        if let fault = chain.purposeFault { throw Fault(.certificatePurpose, fault) }
    }

    /// The anchors of a chain that is valid at a date and was not revoked before it.
    func anchors(of chain: VerifiedChain, at signedDate: Timestamp) throws(Fault) -> [Anchor] {
        let anchors = chain.anchors(validAt: signedDate.wholeSeconds)
        guard !anchors.isEmpty else {
            throw Fault(.certificateNotValidAtSigning, "a certificate was not valid at the signed date")
        }
        try checkRevocation(of: chain, at: signedDate)
        return anchors
    }

    private func decodeHeader(_ jws: CompactJWS, _ token: Token) throws(Fault) -> [UInt8] {
        guard jws.header.count <= configuration.limits.headerSegmentBytesMax else {
            throw Fault(.jwsMalformed, "the header segment is too large")
        }
        return try decode(jws.header, token, of: "header")
    }

    private func decode(_ segment: Range<Int>, _ token: Token, of name: StaticString) throws(Fault) -> [UInt8] {
        let bytes = token.bytes
        guard let decoded = Base64.url.decode(bytes.span.extracting(segment)) else {
            throw Fault(.jwsMalformed, "the \(name) is not base64url without padding")
        }
        return decoded
    }

    private func parse(_ payload: [UInt8]) throws(Fault) -> JSONValue {
        do throws(JSONError) { return try configuration.limits.read(payload: payload) } catch {
            throw Fault(.payloadMalformed, "the payload is not acceptable JSON: \(error)")
        }
    }

    private func check(
        _ signature: [UInt8], of jws: CompactJWS, in token: Token, by chain: VerifiedChain,
        after beginning: SHA256Prefix?
    ) throws(Fault) {
        switch chain.check(jws, of: token, signature: signature, after: beginning) {
        case .valid: chain.countSignature(configuration)
        case .outOfRange, .wrongLength: throw Fault(.signatureInvalid, "r or s of the signature is out of range")
        case .invalid: throw Fault(.signatureInvalid, "the signature is not by the leaf's key")
        }
    }
}

/// A JWS that has passed every rule that concerns only this JWS.
enum GenuineJWS {
    case statement(SignedStatement)
    /// A payload of an unknown kind, or a notification that names no app: only its nested JWS are recorded, each of
    /// which names its own app.
    case unknown(holding: [(token: Token, kind: PayloadKind)])

    var signedItems: [(token: Token, kind: PayloadKind)] {
        switch self {
        case .statement(let statement): statement.fields.signedItems
        case .unknown(let items): items
        }
    }
}

/// A genuine JWS of a known kind, for a configured app.
///
/// A statement is a class, because copying the dozens of fields of a payload costs more than passing one reference.
final class SignedStatement {
    let token: Token
    let json: JSONValue
    let fields: SignedFields
    let signedDate: Timestamp
    let chain: VerifiedChain
    /// The first of the chain's anchors that may vouch for the payload.
    let anchor: Anchor
    let environment: Environment
    /// The app's entry.
    ///
    /// `nil` for renewal info, which names no app.
    let app: ConfiguredApp?

    init(
        token: Token, json: JSONValue, fields: SignedFields, signedDate: Timestamp, chain: VerifiedChain,
        vouching: Vouching
    ) {
        self.token = token
        self.json = json
        self.fields = fields
        self.signedDate = signedDate
        self.chain = chain
        anchor = vouching.anchor
        environment = vouching.environment
        app = vouching.app
    }

    var verification: VerificationFacts {
        VerificationFacts(
            signedDate: signedDate, leaf: chain.leaf, root: anchor.fingerprint, trust: anchor.trust,
            method: chain.method, verifier: Verifier.version)
    }
}
