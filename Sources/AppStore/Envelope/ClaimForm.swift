import JSON

/// The form of what an app claims beside a signed transaction or a receipt: short text.
///
/// A claim of another JSON type is left to `ClaimCheck`, which it contradicts.
enum ClaimForm {
    private static let names: [StaticString] = [
        "transactionID", "originalTransactionID", "productID", "offerID",
    ]

    static func check(_ root: JSONValue) throws(Fault) {
        for name in names {
            guard let claim = root[name], claim.kind == .string else { continue }
            guard let text = claim.stringBytes, !text.isEmpty, ShortText.isAcceptable(text) else {
                throw Fault(
                    .envelopeMalformed,
                    "\(name) is not 1 to \(ShortText.bytesMax) bytes without control characters"
                )
            }
        }
    }
}
