package import JSON

/// A payload and its parsed fields.
///
/// The type is a class, because copying the dozens of fields of a payload costs more than passing one reference.
package final class ReadPayload<Fields: Sendable>: Sendable {
    /// The payload exactly as signed, which preserves fields that Apple adds later.
    package let json: JSONValue
    package let fields: Fields

    package init(_ json: JSONValue, _ fields: Fields) {
        self.json = json
        self.fields = fields
    }
}
