package import AppStore
package import JSON

/// An item of an Advanced Commerce purchase, which Apple can revoke separately.
package struct CommerceItem: Hashable, Sendable {
    package var sku: Identifier
    /// The time at which the item was revoked or fully refunded.
    package var revocationDate: Timestamp?
    /// The refunded part of the item's price; a partial refund does not revoke the item.
    package var refund: ItemRefund?

    package init(sku: Identifier, revocationDate: Timestamp? = nil, refund: ItemRefund? = nil) {
        self.sku = sku
        self.revocationDate = revocationDate
        self.refund = refund
    }
}

/// The sum of all partial refunds of an item's price.
package struct ItemRefund: Hashable, Sendable {
    /// The date of the latest partial refund.
    package var date: Timestamp
    /// The refunded amount in milliunits, more than zero and at most the price.
    package var amount: Int64
    /// The item's price in milliunits.
    package var price: Int64

    /// Makes a refund; the amount is capped at the price.
    ///
    /// `nil` unless amount and price are more than zero.
    package init?(date: Timestamp, amount: Int64, price: Int64) {
        guard amount > 0, price > 0 else { return nil }
        self.date = date
        self.amount = min(amount, price)
        self.price = price
    }
}

extension CommerceItem {
    /// The items of a transaction's `advancedCommerceInfo`, except those without a SKU.
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

    /// The sum of the partial refunds, except those without a date or an amount.
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
    /// Writes a list for `items(list:)`: each item in Apple's form, with at most one partial refund.
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
