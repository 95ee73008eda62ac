extension SHA256Digest: Comparable {
    /// The order of the bytes, which is the order of PostgreSQL's `bytea` as well.
    package static func < (left: Self, right: Self) -> Bool {
        left.precedes(right)
    }
}

extension SHA256Digest: CustomStringConvertible {
    package var description: String { hex }
}
