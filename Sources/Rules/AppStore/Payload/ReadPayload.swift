package import JSON

/// A payload and its fields.
///
/// A class, because copying the dozens of fields of a payload costs more than passing one
/// reference.
package final class ReadPayload<Fields: Sendable>: Sendable {
    /// The payload exactly as signed, so that fields that Apple adds later survive.
    package let json: JSONValue
    package let fields: Fields

    package init(_ json: JSONValue, _ fields: Fields) {
        self.json = json
        self.fields = fields
    }
}
