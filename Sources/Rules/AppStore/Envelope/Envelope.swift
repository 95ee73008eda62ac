import JSON

/// The parts of a body, found by its shape before any part is verified.
struct Envelope {
    /// The purchases or events; empty for a receipt, and for an API response without items.
    let items: [EnvelopeItem]
    /// The receipt, which replaces the items: all purchases of a receipt are verified together.
    var receipt: ReceiptText?
    /// The object around the items, if its unsigned fields are claims about them.
    var claims: UnsignedClaims?
    /// The app's claims beside a signed transaction.
    var clientClaims = ObservationClaims()
    /// Whether the body is a response of Apple's API, whose items are independent of each other.
    var isResponse = false
}

extension Envelope {
    init(_ body: [UInt8]?, _ limits: VerifierLimits) throws(Fault) {
        let body = try BodyForm(body, limits)
        switch body {
        case .jws(let token): self.init(items: [EnvelopeItem(token, .none)])
        case .json(let bytes):
            let root: JSONValue
            do throws(JSONError) { root = try limits.read(bytes) } catch {
                // The property list of iOS 6 begins like JSON.
                guard ReceiptText(propertyList: bytes).isLegacy else {
                    throw Fault(.envelopeMalformed, "the body is not acceptable JSON: \(error)")
                }
                self.init(items: [], receipt: ReceiptText(propertyList: bytes))
                return
            }
            self = try EnvelopeShape.read(root, itemsMax: limits.itemsMax)
        case .receipt(let receipt): self.init(items: [], receipt: receipt)
        }
    }
}

/// A purchase or event of a body: a JWS, or a transaction and its paired renewal info.
struct EnvelopeItem {
    /// The tokens in the order of the body, with the kind that the field's name implies; `nil` for any kind.
    let tokens: [(token: Token, kind: PayloadKind?)]
    /// The object around the tokens, if its unsigned fields are claims about this item only.
    var claims: UnsignedClaims?
}

extension EnvelopeItem { init(_ token: Token, _ kind: PayloadKind?) { self.init(tokens: [(token, kind)]) } }
