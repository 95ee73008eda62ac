import Kafka

/// Shares a batch out so that the records of one purchase stay together and in order.
enum Lanes {
    /// Fewer records than this are not worth a transaction of their own.
    static let recordsMin = 64

    /// - Returns: the places of each lane's records in the batch; one lane for a small batch.
    static func share(_ records: [ConsumerRecord], among lanesMax: Int) -> [[Int]] {
        let count = max(1, min(lanesMax, records.count / recordsMin))
        guard count > 1 else { return [Array(records.indices)] }
        var lanes = [[Int]](repeating: [], count: count)
        for (index, record) in records.enumerated() {
            lanes[lane(of: record.key ?? [], among: count)].append(index)
        }
        return lanes.filter { !$0.isEmpty }
    }

    /// By FNV-1a of the record's key, which names the purchase.
    private static func lane(of key: [UInt8], among count: Int) -> Int {
        var hash: UInt32 = 2_166_136_261
        for byte in key {
            hash = (hash ^ UInt32(byte)) &* 16_777_619
        }
        return Int(hash % UInt32(truncatingIfNeeded: count))
    }
}
