package import JSON

/// One payload and its fields.
///
/// A class, because copying the dozens of fields of a payload costs more than handing on one
/// reference.
package final class ReadPayload<Fields: Sendable>: Sendable {
    /// Written elsewhere exactly as it is, so that fields that Apple adds later survive.
    package let json: JSONValue
    package let fields: Fields

    package init(_ json: JSONValue, _ fields: Fields) {
        self.json = json
        self.fields = fields
    }
}
