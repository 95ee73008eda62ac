enum FeedLimits {
    /// Maximum bytes of a record's value: topics and producers accept 2 MiB, which includes key and envelope.
    static let recordBytesMax = 2_000_000
    /// Minimum of the limit; a topic that accepts less cannot hold the pipeline's other records either.
    private static let recordBytesMin = 16_384

    /// Returns the next limit after a broker has refused a record of that size.
    static func smaller(than bytes: Int) -> Int { max(recordBytesMin, bytes / 2) }
}
