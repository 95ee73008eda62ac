/// What a part says, against what is known of its ID.
package enum PartVerdict: Hashable, Sendable {
    /// Content that decides from now on.
    case new
    /// Known content, signed anew: goes on, so that the sink raises the fact's date. Dropped, it
    /// would let a late older revision win.
    case refreshed
    /// Older than what is known: goes on, for the history and for the graces it may name.
    case superseded
    case duplicate
    /// A field that never changes for an ID differs from what is known.
    case conflict(ImmutableField)
}
