/// The six kinds of JSON value.
package enum JSONKind: UInt8, Sendable {
    case object
    case array
    case string
    case number
    case bool
    case null
}
