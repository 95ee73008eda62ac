import JSON

/// What a receipt says of the app: all attributes but the in-app records, which are left unread.
struct ReceiptContents {
    /// Named as in an app transaction, which says the same of an app.
    let json: JSONValue
    let app: AppTransactionPayload
    /// Nil for a receipt type that Apple has not used so far.
    let environment: Environment?
    /// The values of the attributes 17, in their order.
    let records: [ArraySlice<UInt8>]
    let malformedFields: Int

    /// - Parameter content: what is signed.
    init(_ content: [UInt8], recordsMax: Int) throws(Fault) {
        let attributes = try ReceiptAttribute.all(
            in: content,
            content.indices,
            recordsMax: recordsMax
        )
        records = attributes.filter { $0.number == ReceiptField.inAppRecord }.map(\.value)
        var object = try ReceiptObject(
            attributes.filter { $0.number != ReceiptField.inAppRecord },
            ReceiptField.ofReceipt
        )
        var writer = JSONWriter(reserving: 2_048)
        writer.beginObject()
        object.writeNamed(to: &writer)
        object.writeOthers(as: "attributes", to: &writer)
        writer.endObject()
        guard let json = writer.value() else {
            throw Fault(.receiptMalformed, "an attribute holds what no text may hold")
        }
        self.json = json
        app = AppTransactionPayload(json)
        environment = app.environment.flatMap { ReceiptType.environment($0.string) }
        malformedFields = object.malformedFields
    }
}
