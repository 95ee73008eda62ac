import JSON

/// The attributes of a receipt about the app; its in-app records are not read.
struct ReceiptContents {
    /// The attributes as JSON, with the field names of an app transaction, which states the same facts.
    let json: JSONValue
    let app: AppTransactionPayload
    /// The environment that the receipt type implies.
    ///
    /// `nil` for an unknown receipt type.
    let environment: Environment?
    /// The values of all attributes with the number 17, in order.
    let records: [ArraySlice<UInt8>]
    let malformedFields: Int

    /// - Parameter content: the signed bytes of the receipt.
    init(_ content: [UInt8], recordsMax: Int) throws(Fault) {
        let attributes = try ReceiptAttribute.all(in: content, content.indices, recordsMax: recordsMax)
        records = attributes.filter { $0.number == ReceiptField.inAppRecord }.map(\.value)
        var object = try ReceiptObject(
            attributes.filter { $0.number != ReceiptField.inAppRecord }, ReceiptField.ofReceipt)
        var writer = JSONWriter(reserving: 2_048)
        writer.beginObject()
        object.writeNamed(to: &writer)
        object.writeOthers(as: "attributes", to: &writer)
        writer.endObject()
        guard let json = writer.value() else { throw Fault(.receiptMalformed, "an attribute holds invalid text") }
        self.json = json
        app = AppTransactionPayload(json)
        environment = app.environment.flatMap { ReceiptType.environment($0.string) }
        malformedFields = object.malformedFields
    }
}

/// A writer of a receipt's or a record's attributes as members of a JSON object.
struct ReceiptObject {
    private let fields: [Int64: ReceiptField]
    private let attributes: [ReceiptAttribute]
    /// Number of known attributes with a malformed value, which is written unchanged.
    private(set) var malformedFields = 0
    private var others: [ReceiptAttribute] = []

    /// - Throws: `receipt_malformed` if a known attribute occurs twice.
    init(_ attributes: [ReceiptAttribute], _ fields: [Int64: ReceiptField]) throws(Fault) {
        self.fields = fields
        self.attributes = attributes.sorted { $0.precedes($1) }
        for (attribute, next) in zip(self.attributes, self.attributes.dropFirst())
        where attribute.number == next.number && fields[next.number] != nil {
            throw Fault(.receiptMalformed, "attribute \(next.number) occurs twice")
        }
    }

    /// The text of an attribute.
    ///
    /// `nil` if absent.
    func text(of number: Int64) -> String? {
        guard let attribute = attributes.first(where: { $0.number == number }),
            case .text(let text) = ReceiptValue(attribute, .text)
        else { return nil }
        return text
    }

    /// Writes a member for each attribute with a known number and a well-formed value.
    mutating func writeNamed(to writer: inout JSONWriter) {
        for attribute in attributes {
            guard let field = fields[attribute.number] else {
                others.append(attribute)
                continue
            }
            let value = ReceiptValue(attribute, field.form)
            switch value {
            case .text, .integer, .flag:
                writer.key(field.name)
                value.write(to: &writer)
            case .absent: break
            case .unknown: others.append(attribute)
            case .malformed:
                malformedFields += 1
                others.append(attribute)
            }
        }
    }

    /// Writes the other attributes, each with its number, its version and its value in base64.
    func writeOthers(as key: StaticString, to writer: inout JSONWriter) {
        guard !others.isEmpty else { return }
        writer.key(key)
        writer.array { writer in
            for attribute in others {
                writer.object { writer in
                    writer.key("type")
                    writer.int(attribute.number)
                    writer.key("version")
                    writer.int(attribute.version)
                    writer.key("value")
                    writer.string(utf8: Base64.standard.encode(Array(attribute.value)))
                }
            }
        }
    }
}

extension JSONWriter {
    /// The written text as a value.
    ///
    /// `nil` if the strict reader refuses the text.
    consuming func value() -> JSONValue? { try? JSONDocument(parsing: bytes).root }
}
