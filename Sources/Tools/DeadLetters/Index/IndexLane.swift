import Store

/// Some of the partitions: their records read and not written yet, and the running write.
///
/// Partitions of different lanes are written at the same time, those of one lane in their order.
struct IndexLane {
    private(set) var buffer: [DeadLetterIndexTable.Record] = []
    private(set) var writing: PendingWrite?

    var isIdle: Bool { buffer.isEmpty && writing == nil }

    mutating func append(_ record: DeadLetterIndexTable.Record) {
        buffer.append(record)
    }

    /// Drops records of revoked partitions, unless they are being written.
    mutating func keep(_ isKept: (Int32) -> Bool) {
        buffer.removeAll { !isKept($0.partition) }
    }

    /// Starts to write the records, unless a write is running.
    ///
    /// - Parameters:
    ///   - next: the next offset to read of each partition of the lane.
    ///   - indexed: the next offset to index.
    mutating func startWriting(
        next: [Int32: Int64],
        indexed: [Int32: Int64],
        rowsMax: Int,
        with writer: IndexWriter
    ) {
        guard writing == nil else { return }
        let records = Array(buffer.prefix(rowsMax))
        buffer.removeFirst(records.count)
        // After the last record of a partition there may be offsets without one.
        var offsets = next
        for record in buffer.reversed() {
            offsets[record.partition] = record.offset
        }
        offsets = offsets.filter { partition, offset in
            offset > indexed[partition, default: -1]
        }
        guard !records.isEmpty || !offsets.isEmpty else { return }
        writing = writer.write(records, nextOffsets: offsets)
    }

    /// Removes and returns a write that has ended, to make room for the next.
    mutating func takeEnded() -> (write: PendingWrite, outcome: Result<Void, any Error>)? {
        guard let writing, let outcome = writing.outcome else { return nil }
        self.writing = nil
        return (writing, outcome)
    }

    /// Removes and returns the running write, for the caller to wait for.
    mutating func takeWriting() -> PendingWrite? {
        defer { writing = nil }
        return writing
    }
}
