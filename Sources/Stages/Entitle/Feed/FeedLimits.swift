/// How large the feed's records may be.
enum FeedLimits {
    /// Topics and producers take 2 MiB, the record's key and envelope included.
    static let recordBytesMax = 2_000_000
    /// No topic that anything else fits in takes less.
    private static let recordBytesMin = 16_384

    /// Where a broker has refused a record of that size, whatever its topic should take.
    static func smaller(than bytes: Int) -> Int {
        max(recordBytesMin, bytes / 2)
    }
}
