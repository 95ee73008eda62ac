extension ProducerRecord {
    /// What the record takes at most as a batch of its own, uncompressed: what producer and broker
    /// compare with their limits (`message.max.bytes`, `max.message.bytes`).
    ///
    /// A batch that compression would make larger is sent as it is, so a record within the limit is
    /// taken.
    package var batchBytesMax: Int {
        var bytes = Self.batchOverhead + Self.recordOverheadMax
        bytes += (key?.count ?? 0) + (value?.count ?? 0)
        for header in headers {
            bytes += header.nameBytes.count + (header.value?.count ?? 0) + Self.headerOverheadMax
        }
        return bytes
    }

    /// RecordBatch of Kafka's message format 2.
    private static let batchOverhead = 61
    /// Of one record in it: its lengths, deltas and attributes, each of the longest form.
    private static let recordOverheadMax = 36
    /// The lengths of name and value.
    private static let headerOverheadMax = 10
}
