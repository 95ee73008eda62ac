import JSON
import OpenSSL

/// An attribute's value, read in the form that its number has.
enum ReceiptValue {
    case text(String)
    case integer(Int64)
    case flag(Bool)
    /// An empty text or date, or an identifier of zero: as if the attribute were not there.
    case absent
    /// Well formed, and of a meaning that nobody here knows.
    case unknown
    case malformed

    init(_ attribute: ReceiptAttribute, _ form: ReceiptField.Form) {
        switch form {
        case .text: self = Self.text(of: attribute.value)
        case .date: self = Self.date(of: attribute.value)
        case .bytes:
            let encoded = Base64.standard.encode(Array(attribute.value))
            self = .text(String(decoding: encoded, as: UTF8.self))
        case .integer: self = Self.integer(of: attribute.value) { .integer($0) }
        case .identifier:
            self = Self.integer(of: attribute.value) { $0 == 0 ? .absent : .text(String($0)) }
        case .flag:
            self = Self.integer(of: attribute.value) { value in
                (0...1).contains(value) ? .flag(value == 1) : .malformed
            }
        case .productType:
            self = Self.integer(of: attribute.value) { value in
                value == 3 ? .text(ProductType.autoRenewable.rawValue) : .unknown
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .text(let text): writer.string(text)
        case .integer(let value): writer.int(value)
        case .flag(let value): writer.bool(value)
        case .absent, .unknown, .malformed: writer.null()
        }
    }

    private static func integer(
        of value: ArraySlice<UInt8>,
        _ read: (Int64) -> ReceiptValue
    ) -> ReceiptValue {
        let bytes = Array(value)
        var reader = ASN1Reader(bytes, bytes.indices)
        guard let integer = reader.nextInt64(), reader.isAtEnd else { return .malformed }
        return read(integer)
    }

    private static func text(of value: ArraySlice<UInt8>) -> ReceiptValue {
        guard let bytes = characters(of: value), !bytes.contains(0),
            let text = String(validating: bytes, as: UTF8.self)
        else { return .malformed }
        return text.isEmpty ? .absent : .text(text)
    }

    private static func date(of value: ArraySlice<UInt8>) -> ReceiptValue {
        guard let bytes = characters(of: value) else { return .malformed }
        guard !bytes.isEmpty else { return .absent }
        return Timestamp(rfc3339: bytes).map { .integer($0.milliseconds) } ?? .malformed
    }

    /// The content of one UTF8String or IA5String.
    private static func characters(of value: ArraySlice<UInt8>) -> [UInt8]? {
        let bytes = Array(value)
        var reader = ASN1Reader(bytes, bytes.indices)
        guard let element = reader.next(), reader.isAtEnd,
            element.tag == .utf8String || element.tag == .ia5String
        else { return nil }
        return Array(bytes[element.content])
    }
}
