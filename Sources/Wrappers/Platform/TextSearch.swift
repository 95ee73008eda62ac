extension String {
    /// Whether this text contains another, byte for byte in UTF-8; every text contains the empty text.
    ///
    /// This replaces `contains(_:)`, which would load the toolchain's regular expressions into every worker's memory.
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
