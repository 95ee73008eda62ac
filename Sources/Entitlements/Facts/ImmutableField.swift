/// A field that Apple never changes for a transaction ID; named in the dead letter of a conflict.
package enum ImmutableField: String, CaseIterable, Sendable {
    case originalTransactionID
    case productID
    case purchaseDate
    case type
    case quantity
}
