internal import AppStore
internal import OpenSSL

/// An App Store receipt's attributes, to be signed.
///
/// Nil leaves an attribute out; `further` adds any other, or one of them once more.
package struct ReceiptFields: Sendable {
    package var receiptType: String? = "Production"
    package var appAppleID: Int? = 1_234_567_890
    package var bundleID: String? = "com.example.pro"
    package var applicationVersion: String? = "3.1"
    package var originalApplicationVersion: String? = "1.0"
    /// Milliseconds since 1970, as all dates here; a receipt has whole seconds.
    package var creationDate: Int64? = 1_767_225_601_000
    package var originalPurchaseDate: Int64? = 1_735_689_600_000
    package var expirationDate: Int64?
    package var records: [ReceiptRecordFields] = []
    package var further: [[UInt8]] = []

    package init() {}

    /// What is signed: the SET of all attributes.
    package var content: [UInt8] {
        var attributes: [[UInt8]?] = [
            receiptType.map { Self.attribute(0, text: $0) },
            appAppleID.map { Self.attribute(1, integer: $0) },
            bundleID.map { Self.attribute(2, text: $0) },
            applicationVersion.map { Self.attribute(3, text: $0) },
            Self.attribute(4, version: 2, Array(1...16)),
            Self.attribute(5, Array(SHA256.digest([1]).bytes.prefix(20))),
            Self.attribute(8, date: ""),
            creationDate.map { Self.attribute(12, date: $0) },
            Self.attribute(14, integer: 229),
            originalPurchaseDate.map { Self.attribute(18, date: $0) },
            originalApplicationVersion.map { Self.attribute(19, text: $0) },
            expirationDate.map { Self.attribute(21, date: $0) },
        ]
        attributes += records.map { Self.attribute(17, $0.content) }
        return DER.element(0x31, Array((attributes.compactMap { $0 } + further).joined()))
    }

    /// - Parameter value: what its OCTET STRING holds.
    package static func attribute(
        _ number: Int,
        version: Int = 1,
        _ value: [UInt8]
    ) -> [UInt8] {
        DER.sequence([DER.integer(number), DER.integer(version), DER.octetString(value)])
    }

    package static func attribute(_ number: Int, text: String) -> [UInt8] {
        attribute(number, DER.utf8String(text))
    }

    package static func attribute(_ number: Int, integer: Int) -> [UInt8] {
        attribute(number, DER.integer(integer))
    }

    /// - Parameter date: the text itself, whatever it is.
    package static func attribute(_ number: Int, date: String) -> [UInt8] {
        attribute(number, DER.element(0x16, Array(date.utf8)))
    }

    static func attribute(_ number: Int, date: Int64) -> [UInt8] {
        let seconds = Timestamp(milliseconds: date).wholeSeconds
        return attribute(number, date: Timestamp(milliseconds: seconds * 1000).description)
    }
}
