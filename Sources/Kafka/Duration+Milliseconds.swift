extension Duration {
    /// Whole milliseconds for a C call, at least zero and at most `Int32.max`.
    var millisecondsClamped: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64(Int32.max) / 1_000 else { return .max }
        return Int32(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }
}
