import AppStore
package import JSON

extension CommerceItem {
    /// The items of a transaction's `advancedCommerceInfo`; one without a SKU is left out.
    package static func items(of advancedCommerce: JSONValue?) -> [CommerceItem] {
        advancedCommerce?["items"].map { items(list: $0) } ?? []
    }

    /// The items of the list itself.
    package static func items(list: JSONValue) -> [CommerceItem] {
        list.elements.compactMap { CommerceItem($0) }
    }

    private init?(_ item: JSONValue) {
        guard let sku = item["SKU"]?.string, !sku.isEmpty else { return nil }
        self.init(sku: sku, revocationDate: Self.revocationDate(item))
    }

    private static func revocationDate(_ item: JSONValue) -> Timestamp? {
        if let date = date(item["revocationDate"]) {
            return date
        }
        let fullRefunds = item["refunds"]?.elements.filter { refund in
            refund["refundType"]?.isString("FULL") ?? false
        }
        return fullRefunds?.compactMap { date($0["refundDate"]) }.min()
    }

    private static func date(_ value: JSONValue?) -> Timestamp? {
        let date = value?.int64RoundedDown.map { Timestamp(milliseconds: $0) }
        return date?.isStorable == true ? date : nil
    }
}
