package import JSON

/// A verified payload: the bytes that Apple signed, and what they say.
package struct SignedPart<Fields: Sendable>: Sendable {
    /// To be spliced as it is: fields that Apple adds later survive.
    package let json: JSONValue
    package let fields: Fields
    package let signedDate: Timestamp
}
