package import AppStore

/// The immutable fields of a transaction ID, which are the same in everything Apple signs about it.
package struct TransactionIdentity: Hashable, Sendable {
    package var originalTransactionID: Identifier
    package var productID: Identifier
    package var purchaseDate: Timestamp
    package var type: ProductType?
    package var quantity: Int32?

    package init(
        originalTransactionID: Identifier, productID: Identifier, purchaseDate: Timestamp, type: ProductType? = nil,
        quantity: Int32? = nil
    ) {
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.purchaseDate = purchaseDate
        self.type = type
        self.quantity = quantity
    }

    /// The field in which two statements about one ID differ.
    ///
    /// `nil` if they agree.
    ///
    /// An absent field differs from nothing. Dates are compared in whole seconds: receipts have no finer dates, and
    /// Apple signs the purchase date of one transaction with different milliseconds. `TransactionTable` uses the same
    /// rules.
    package func conflict(with other: TransactionIdentity) -> ImmutableField? {
        if originalTransactionID != other.originalTransactionID { return .originalTransactionID }
        if productID != other.productID { return .productID }
        if purchaseDate.wholeSeconds != other.purchaseDate.wholeSeconds { return .purchaseDate }
        if let type, let otherType = other.type, type != otherType { return .type }
        if let quantity, let otherQuantity = other.quantity, quantity != otherQuantity { return .quantity }
        return nil
    }
}

/// An immutable field of a transaction ID; the dead letter of a conflict contains its name.
package enum ImmutableField: String, CaseIterable, Sendable {
    case originalTransactionID
    case productID
    case purchaseDate
    case type
    case quantity
}
