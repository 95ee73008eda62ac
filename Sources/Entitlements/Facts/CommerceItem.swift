package import AppStore

/// One item of an Advanced Commerce purchase, which Apple can take back alone.
package struct CommerceItem: Hashable, Sendable {
    package var sku: String
    /// When the item was revoked, or refunded in full.
    package var revocationDate: Timestamp?
    /// What was refunded of its price in part; the item is kept.
    package var refund: ItemRefund?

    package init(sku: String, revocationDate: Timestamp? = nil, refund: ItemRefund? = nil) {
        self.sku = sku
        self.revocationDate = revocationDate
        self.refund = refund
    }
}
