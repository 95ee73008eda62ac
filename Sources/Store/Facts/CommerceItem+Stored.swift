import AppStore
package import Entitlements
import JSON

/// The items of an Advanced Commerce purchase, in the column `items`.
extension CommerceItem {
    /// Reads what `stored(_:)` wrote.
    package static func items(stored text: JSONText) -> [CommerceItem] {
        guard let document = try? JSONDocument(parsing: Array(text.bytes)) else { return [] }
        return items(list: document.root)
    }

    /// Nil where there are none.
    static func stored(_ items: [CommerceItem]) -> JSONText? {
        guard !items.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.beginArray()
        for item in items {
            writer.beginObject()
            writer.key("SKU")
            writer.string(item.sku)
            if let date = item.revocationDate {
                writer.key("revocationDate")
                writer.int(date.milliseconds)
            }
            if let refund = item.refund {
                writer.refund(refund)
            }
            writer.endObject()
        }
        writer.endArray()
        return JSONText(writer.bytes)
    }
}

extension JSONWriter {
    /// As Apple writes one refund of a part.
    fileprivate mutating func refund(_ refund: ItemRefund) {
        key("price")
        int(refund.price)
        key("refunds")
        beginArray()
        beginObject()
        key("refundAmount")
        int(refund.amount)
        key("refundDate")
        int(refund.date.milliseconds)
        endObject()
        endArray()
    }
}
