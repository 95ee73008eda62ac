package import AppStore
package import JSON

/// An item of an Advanced Commerce purchase, which Apple can revoke alone.
package struct CommerceItem: Hashable, Sendable {
    package var sku: Identifier
    /// The time at which the item was revoked, or refunded in full.
    package var revocationDate: Timestamp?
    /// The part of its price that was refunded; the item is kept.
    package var refund: ItemRefund?

    package init(sku: Identifier, revocationDate: Timestamp? = nil, refund: ItemRefund? = nil) {
        self.sku = sku
        self.revocationDate = revocationDate
        self.refund = refund
    }
}

/// All partial refunds of an item's price together.
package struct ItemRefund: Hashable, Sendable {
    /// The date of the last of them.
    package var date: Timestamp
    /// Milliunits, more than zero and at most the price.
    package var amount: Int64
    /// Milliunits.
    package var price: Int64

    /// Bounds the amount by the price.
    ///
    /// `nil` unless the refund is a part of the price.
    package init?(date: Timestamp, amount: Int64, price: Int64) {
        guard amount > 0, price > 0 else { return nil }
        self.date = date
        self.amount = min(amount, price)
        self.price = price
    }
}

extension CommerceItem {
    /// The items of a transaction's `advancedCommerceInfo`; one without a SKU is left out.
    package static func items(of advancedCommerce: JSONValue?) -> [CommerceItem] {
        advancedCommerce?["items"].map { items(list: $0) } ?? []
    }

    package static func items(list: JSONValue) -> [CommerceItem] { list.elements.compactMap { CommerceItem($0) } }

    private init?(_ item: JSONValue) {
        guard let sku = item["SKU"]?.identifier, !sku.isEmpty else { return nil }
        let refunds = item["refunds"]?.elements.map { $0 } ?? []
        self.init(
            sku: sku, revocationDate: Self.date(item["revocationDate"]) ?? Self.dateOfWhole(refunds),
            refund: Self.part(of: item["price"]?.int64, in: refunds))
    }

    private static func dateOfWhole(_ refunds: [JSONValue]) -> Timestamp? {
        refunds.filter(\.isWholeRefund).compactMap { date($0["refundDate"]) }.min()
    }

    /// The sum of the partial refunds; one without a date or an amount is ignored.
    private static func part(of price: Int64?, in refunds: [JSONValue]) -> ItemRefund? {
        var sum: Int64 = 0
        var last: Timestamp?
        for refund in refunds where !refund.isWholeRefund {
            guard let date = date(refund["refundDate"]), let amount = refund["refundAmount"]?.int64, amount > 0 else {
                continue
            }
            let (added, isTooMuch) = sum.addingReportingOverflow(amount)
            sum = isTooMuch ? .max : added
            last = max(last ?? date, date)
        }
        guard let price, let last else { return nil }
        return ItemRefund(date: last, amount: sum, price: price)
    }

    private static func date(_ value: JSONValue?) -> Timestamp? {
        value?.int64RoundedDown.flatMap(Timestamp.init(boundedMilliseconds:))
    }
}

extension JSONValue { fileprivate var isWholeRefund: Bool { self["refundType"]?.isString("FULL") ?? false } }

extension CommerceItem {
    /// Writes a list that `items(list:)` can read: each item in Apple's form, with at most one
    /// partial refund.
    package static func write(_ items: [CommerceItem], to writer: inout JSONWriter) {
        writer.beginArray()
        for item in items {
            writer.beginObject()
            writer.key("SKU")
            writer.string(item.sku)
            writer.optionalInt("revocationDate", item.revocationDate?.milliseconds)
            if let refund = item.refund { write(refund, to: &writer) }
            writer.endObject()
        }
        writer.endArray()
    }

    private static func write(_ refund: ItemRefund, to writer: inout JSONWriter) {
        writer.key("price")
        writer.int(refund.price)
        writer.key("refunds")
        writer.beginArray()
        writer.beginObject()
        writer.key("refundAmount")
        writer.int(refund.amount)
        writer.key("refundDate")
        writer.int(refund.date.milliseconds)
        writer.endObject()
        writer.endArray()
    }
}
