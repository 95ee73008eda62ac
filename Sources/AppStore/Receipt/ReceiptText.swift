/// A receipt as it was posted: base64 (RFC 4648 §4), with line breaks or without.
struct ReceiptText {
    private let text: ArraySlice<UInt8>

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
    }

    /// - Throws: `receipt_malformed` for anything but base64 with its padding.
    func decoded() throws(Fault) -> [UInt8] {
        let characters = text.filter { $0 != 0x0A && $0 != 0x0D }
        guard !characters.isEmpty, let decoded = Base64.standard.decode(characters.span) else {
            throw Fault(.receiptMalformed, "the receipt is no base64 with padding")
        }
        return decoded
    }
}
