/// Which documents are accepted, beyond what the limits say.
package enum JSONPolicy: Sendable {
    /// All that RFC 8259 calls JSON; a UTF-8 byte order mark before it is skipped.
    case grammar
    /// The grammar without what two readers could understand differently, or PostgreSQL could not
    /// hold: doubled keys, NUL and lone surrogates in strings, a byte order mark.
    case strict
}
