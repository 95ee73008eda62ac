/// The bits of a certificate's key usage extension that this product reads (RFC 5280 §4.2.1.3).
package struct KeyUsage: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let digitalSignature = KeyUsage(rawValue: 0x80)
    package static let nonRepudiation = KeyUsage(rawValue: 0x40)
    package static let keyEncipherment = KeyUsage(rawValue: 0x20)
    package static let keyCertSign = KeyUsage(rawValue: 0x04)
    package static let crlSign = KeyUsage(rawValue: 0x02)
}
