extension String {
    /// Whether a text stands anywhere in this one, byte for byte in UTF-8; an empty one does.
    ///
    /// This replaces `contains(_:)`, with which every worker would hold the toolchain's regular
    /// expressions in its memory.
    package func includes(_ text: String) -> Bool {
        let wanted = Array(text.utf8)
        var rest = utf8[...]
        while !rest.starts(with: wanted) {
            guard !rest.isEmpty else { return false }
            rest = rest.dropFirst()
        }
        return true
    }
}
