import JSON

/// Writes the attributes of a receipt, or of one record, as members of a JSON object.
struct ReceiptObject {
    private let fields: [Int64: ReceiptField]
    private let attributes: [ReceiptAttribute]
    /// How many known attributes had a value of another form; they are carried as they are.
    private(set) var malformedFields = 0
    private var others: [ReceiptAttribute] = []

    /// - Throws: `receipt_malformed` where an attribute that has a meaning is there twice.
    init(
        _ attributes: [ReceiptAttribute],
        _ fields: [Int64: ReceiptField]
    ) throws(Fault) {
        self.fields = fields
        self.attributes = attributes.sorted { $0.precedes($1) }
        for (attribute, next) in zip(self.attributes, self.attributes.dropFirst())
        where attribute.number == next.number && fields[next.number] != nil {
            throw Fault(.receiptMalformed, "attribute \(next.number) is there twice")
        }
    }

    /// The text of an attribute; nil where there is none.
    func text(of number: Int64) -> String? {
        guard let attribute = attributes.first(where: { $0.number == number }),
            case .text(let text) = ReceiptValue(attribute, .text)
        else { return nil }
        return text
    }

    /// Writes a member for each attribute whose number has a name and whose value is of its form.
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
            case .absent:
                break
            case .unknown:
                others.append(attribute)
            case .malformed:
                malformedFields += 1
                others.append(attribute)
            }
        }
    }

    /// Writes the rest, each with its number, its version and its value in base64.
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
    /// What was written, as a value; nil where the strict reader takes no such text.
    consuming func value() -> JSONValue? {
        try? JSONDocument(parsing: bytes).root
    }
}
