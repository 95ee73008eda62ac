import JSON
import OpenSSL

/// An attribute of a receipt, or of an in-app record in a receipt; `ReceiptField` explains its number.
struct ReceiptAttribute: Equatable {
    let number: Int64
    let version: Int64
    /// The content of the attribute's OCTET STRING.
    let value: ArraySlice<UInt8>

    /// Maximum attributes in a receipt or a record, not counting in-app records.
    ///
    /// Apple writes about 25 attributes.
    private static let countMax = 256

    /// Reads a SET of attributes that occupies the whole range.
    ///
    /// - Parameter recordsMax: the maximum number of in-app records in the SET.
    static func all(in bytes: [UInt8], _ range: Range<Int>, recordsMax: Int) throws(Fault) -> [ReceiptAttribute] {
        var outer = ASN1Reader(bytes, range)
        guard let set = outer.next(.set), outer.isAtEnd else {
            throw Fault(.receiptMalformed, "the signed content is not a set of attributes")
        }
        var reader = ASN1Reader(bytes, set)
        var attributes: [ReceiptAttribute] = []
        var recordsCount = 0
        while !reader.isAtEnd {
            guard let attribute = ReceiptAttribute(&reader) else {
                throw Fault(.receiptMalformed, "an attribute is malformed")
            }
            if attribute.number == ReceiptField.inAppRecord {
                recordsCount += 1
                guard recordsCount <= recordsMax else {
                    throw Fault(.payloadTooLarge, "the receipt holds more than \(recordsMax) in-app records")
                }
            }
            attributes.append(attribute)
            guard attributes.count - recordsCount <= countMax else {
                throw Fault(.receiptMalformed, "there are more than \(countMax) attributes")
            }
        }
        return attributes
    }

    /// The first attributes of a SET, up to the first malformed one.
    static func first(_ countMax: Int, of bytes: [UInt8]) -> [ReceiptAttribute] {
        var outer = ASN1Reader(bytes, bytes.indices)
        guard let set = outer.next(.set) else { return [] }
        var reader = ASN1Reader(bytes, set)
        var attributes: [ReceiptAttribute] = []
        while attributes.count < countMax, let attribute = ReceiptAttribute(&reader) { attributes.append(attribute) }
        return attributes
    }

    /// Reads the next attribute.
    ///
    /// `nil` for anything but a SEQUENCE of type, version and value.
    private init?(_ reader: inout ASN1Reader) {
        guard let content = reader.next(.sequence) else { return nil }
        var fields = ASN1Reader(reader.bytes, content)
        guard let number = fields.nextInt64(), let version = fields.nextInt64(), let value = fields.next(.octetString),
            fields.isAtEnd
        else { return nil }
        self.number = number
        self.version = version
        self.value = reader.bytes[value]
    }

    /// Whether this attribute precedes another, in an order that depends only on the attributes.
    func precedes(_ other: ReceiptAttribute) -> Bool {
        if number != other.number { return number < other.number }
        if version != other.version { return version < other.version }
        return value.lexicographicallyPrecedes(other.value)
    }
}

/// An attribute's value, parsed according to the attribute's number.
enum ReceiptValue {
    case text(String)
    case integer(Int64)
    case flag(Bool)
    /// An empty text or date, or an identifier of zero, which is treated as absent.
    case absent
    /// A well-formed value of unknown meaning.
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
        case .identifier: self = Self.integer(of: attribute.value) { $0 == 0 ? .absent : .text(String($0)) }
        case .flag:
            self = Self.integer(of: attribute.value) { value in (0...1).contains(value) ? .flag(value == 1) : .malformed
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

    private static func integer(of value: ArraySlice<UInt8>, _ read: (Int64) -> ReceiptValue) -> ReceiptValue {
        let bytes = Array(value)
        var reader = ASN1Reader(bytes, bytes.indices)
        guard let integer = reader.nextInt64(), reader.isAtEnd else { return .malformed }
        return read(integer)
    }

    private static func text(of value: ArraySlice<UInt8>) -> ReceiptValue {
        guard let bytes = characters(of: value), !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self)
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
        guard let element = reader.next(), reader.isAtEnd, element.tag == .utf8String || element.tag == .ia5String
        else { return nil }
        return Array(bytes[element.content])
    }
}
