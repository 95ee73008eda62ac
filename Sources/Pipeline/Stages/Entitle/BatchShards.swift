import Kafka

/// Shards a batch so that the records of one user stay together and in order.
///
/// If two shards shared a user, one would wait for the other's commit.
enum BatchShards {
    /// Minimum records of a shard; fewer are not worth a separate transaction.
    static let recordsMin = 64

    /// Assigns the records of a batch to shards.
    ///
    /// - Returns: the indices of each shard's records in the batch; a small batch has a single shard.
    static func indices(of records: [ConsumerRecord], shardsMax: Int) -> [[Int]] {
        let count = max(1, min(shardsMax, records.count / recordsMin))
        guard count > 1 else { return [Array(records.indices)] }
        var shards = [[Int]](repeating: [], count: count)
        for (index, record) in records.enumerated() { shards[shard(of: record.key ?? [], among: count)].append(index) }
        return shards.filter { !$0.isEmpty }
    }

    /// Chooses a shard by the 32-bit FNV-1a hash of the record's key, which names the user or the purchase.
    private static func shard(of key: [UInt8], among count: Int) -> Int {
        // The offset basis of FNV-1a; the factor below is its prime.
        var hash: UInt32 = 2_166_136_261
        for byte in key { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int(hash % UInt32(truncatingIfNeeded: count))
    }
}
