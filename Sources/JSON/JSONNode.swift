/// One value or key of a document, in the order of the text.
///
/// A container is followed by its contents; in an object, keys and values take turns.
struct JSONNode: Sendable {
    /// Where the text of the value begins and ends; a string's quotes are part of it.
    var start: UInt32
    var end: UInt32
    /// The index of the node that follows this one and all it contains.
    var next: UInt32
    /// Members of an object, elements of an array.
    var count: UInt32
    var kind: JSONKind
    /// A string with at least one backslash.
    var hasEscapes: Bool
    /// A string that names half of a surrogate pair, which no UTF-8 can say.
    var hasLoneSurrogate: Bool
}
