import JSON

/// An in-app record of a receipt, in the shape of a transaction from a JWS.
///
/// Fields that a receipt lacks are absent. The signed date is the receipt's.
struct ReceiptRecord {
    let json: JSONValue
    let fields: TransactionPayload
    /// Number of malformed attributes that `fields` does not count.
    let malformedFields: Int

    /// - Parameter value: the value of an attribute with the number 17.
    init(_ value: ArraySlice<UInt8>, of receipt: ReceiptContents) throws(Fault) {
        let bytes = Array(value)
        let attributes = try ReceiptAttribute.all(in: bytes, bytes.indices, recordsMax: 0)
        var object = try ReceiptObject(attributes, ReceiptField.ofRecord)
        var writer = JSONWriter(reserving: 1_024)
        writer.beginObject()
        object.writeNamed(to: &writer)
        if receipt.environment == .xcode, object.text(of: ReceiptField.originalTransactionID) == nil {
            // Xcode omits the original transaction ID, which equals the transaction ID in Xcode's JWS of the same
            // purchase.
            let id = object.text(of: ReceiptField.transactionID)
            writer.optionalString("originalTransactionId", id)
        }
        Self.write(receipt, to: &writer)
        object.writeOthers(as: "receiptAttributes", to: &writer)
        writer.endObject()
        guard let json = writer.value() else { throw Fault(.receiptMalformed, "an in-app record holds invalid text") }
        self.json = json
        fields = TransactionPayload(json)
        malformedFields = object.malformedFields
    }

    /// Writes the fields that a JWS contains in every transaction and a receipt only once.
    private static func write(_ receipt: ReceiptContents, to writer: inout JSONWriter) {
        writer.optionalString("bundleId", receipt.app.bundleID?.string)
        writer.optionalString("environment", receipt.environment?.rawValue)
        for (name, date) in [
            ("signedDate" as StaticString, receipt.app.signedDate?.milliseconds),
            ("receiptExpirationDate", receipt.json["expirationDate"]?.int64),
        ] {
            guard let date else { continue }
            writer.key(name)
            writer.int(date)
        }
    }

    /// Checks that a record has the fields of a purchase.
    func checkRequired() throws(Fault) {
        try Self.require(fields.transactionID != nil, "transaction ID")
        try Self.require(fields.originalTransactionID != nil, "original transaction ID")
        try Self.require(fields.productID != nil, "product")
        try Self.require(fields.purchaseDate != nil, "purchase date")
    }

    private static func require(_ isPresent: Bool, _ name: String) throws(Fault) {
        guard isPresent else { throw Fault(.receiptMalformed, "an in-app record has no \(name)") }
    }

    /// The distinct records of a receipt, in order.
    static func all(of receipt: ReceiptContents) throws(Fault) -> [ReceiptRecord] {
        var records: [ReceiptRecord] = []
        var known: [[UInt8]: ArraySlice<UInt8>] = [:]
        for value in receipt.records {
            let record = try ReceiptRecord(value, of: receipt)
            try record.checkRequired()
            let id = record.fields.transactionID?.bytes ?? []
            if let other = known.updateValue(record.json.rawBytes, forKey: id) {
                guard other == record.json.rawBytes else {
                    throw Fault(.receiptMalformed, "two in-app records of one ID differ")
                }
            } else {
                records.append(record)
            }
        }
        return records
    }
}
