internal import OpenSSL

/// An in-app record of a receipt.
///
/// Nil leaves an attribute out; `further` adds any other, or one of them once more.
package struct ReceiptRecordFields: Sendable {
    package var quantity: Int? = 1
    package var productID: String? = "com.example.pro.monthly"
    package var transactionID: String? = "2000000000000001"
    package var originalTransactionID: String? = "2000000000000001"
    /// Milliseconds since 1970, as all dates here; a receipt has whole seconds.
    package var purchaseDate: Int64? = 1_767_225_600_000
    package var originalPurchaseDate: Int64? = 1_767_225_600_000
    /// 3 is an auto-renewable subscription.
    package var productType: Int? = 3
    package var expiresDate: Int64?
    package var webOrderLineItemID: Int? = 0
    package var cancellationDate: Int64?
    package var isInIntroOfferPeriod: Bool? = false
    package var further: [[UInt8]] = []

    package init() {}

    /// What a receipt says of a transaction that a JWS has as well.
    package init(_ transaction: TransactionFields) {
        quantity = transaction.quantity.map { Int($0) }
        productID = transaction.productID
        transactionID = transaction.transactionID
        originalTransactionID = transaction.originalTransactionID
        purchaseDate = transaction.purchaseDate
        originalPurchaseDate = transaction.originalPurchaseDate
        productType = transaction.type == "Auto-Renewable Subscription" ? 3 : nil
        expiresDate = transaction.expiresDate
        webOrderLineItemID = transaction.webOrderLineItemID.flatMap { Int($0) }
        cancellationDate = transaction.revocationDate
    }

    /// The SET of its attributes.
    package var content: [UInt8] {
        typealias Fields = ReceiptFields
        let attributes: [[UInt8]?] = [
            quantity.map { Fields.attribute(1701, integer: $0) },
            productID.map { Fields.attribute(1702, text: $0) },
            transactionID.map { Fields.attribute(1703, text: $0) },
            purchaseDate.map { Fields.attribute(1704, date: $0) },
            originalTransactionID.map { Fields.attribute(1705, text: $0) },
            originalPurchaseDate.map { Fields.attribute(1706, date: $0) },
            productType.map { Fields.attribute(1707, integer: $0) },
            expiresDate.map { Fields.attribute(1708, date: $0) }
                ?? Fields.attribute(1708, date: ""),
            Fields.attribute(1710, integer: 0),
            webOrderLineItemID.map { Fields.attribute(1711, integer: $0) },
            cancellationDate.map { Fields.attribute(1712, date: $0) }
                ?? Fields.attribute(1712, date: ""),
            isInIntroOfferPeriod.map { Fields.attribute(1719, integer: $0 ? 1 : 0) },
        ]
        return DER.set(Array((attributes.compactMap { $0 } + further).joined()))
    }
}
