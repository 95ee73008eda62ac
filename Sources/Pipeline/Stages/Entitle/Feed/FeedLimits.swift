enum FeedLimits {
    /// Topics and producers take 2 MiB, which includes the record's key and envelope.
    static let recordBytesMax = 2_000_000
    /// A topic that takes less holds no other record either.
    private static let recordBytesMin = 16_384

    /// The next limit after a broker has refused a record of that size, whatever its topic should
    /// take.
    static func smaller(than bytes: Int) -> Int { max(recordBytesMin, bytes / 2) }
}
