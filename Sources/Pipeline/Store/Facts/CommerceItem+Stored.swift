package import Entitlements
import JSON

/// The items of an Advanced Commerce purchase, in the column `items`.
extension CommerceItem {
    /// Reads the output of `stored(_:)`.
    package static func items(stored text: JSONText) -> [CommerceItem] { items(list: text.root) }

    /// Writes items as the value of the column.
    ///
    /// `nil` if there are no items.
    static func stored(_ items: [CommerceItem]) -> JSONText? {
        guard !items.isEmpty else { return nil }
        var writer = JSONWriter()
        write(items, to: &writer)
        return JSONText(writer.bytes)
    }
}
