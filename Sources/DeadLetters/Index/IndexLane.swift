import Store

/// Some of the partitions: what is read of them and not written yet, and what is being written.
///
/// Partitions of different lanes are written at the same time, those of one in their order.
struct IndexLane {
    private(set) var buffer: [DeadLetterIndexTable.Record] = []
    private(set) var writing: PendingWrite?

    var isIdle: Bool { buffer.isEmpty && writing == nil }

    mutating func append(_ record: DeadLetterIndexTable.Record) {
        buffer.append(record)
    }

    /// Forgets what is not being written yet of other partitions than these.
    mutating func keep(_ isKept: (Int32) -> Bool) {
        buffer.removeAll { !isKept($0.partition) }
    }

    /// Starts to write what is there, unless something is being written.
    ///
    /// - Parameters:
    ///   - next: where reading goes on, of each partition of the lane.
    ///   - indexed: where the index is.
    mutating func startWriting(
        next: [Int32: Int64],
        indexed: [Int32: Int64],
        rowsMax: Int,
        with writer: IndexWriter
    ) {
        guard writing == nil else { return }
        let records = Array(buffer.prefix(rowsMax))
        buffer.removeFirst(records.count)
        // Behind the last record of a partition there may be offsets without one.
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

    /// What was being written and has ended now, which makes room for the next.
    mutating func takeEnded() -> (write: PendingWrite, outcome: Result<Int, any Error>)? {
        guard let writing, let outcome = writing.outcome else { return nil }
        self.writing = nil
        return (writing, outcome)
    }

    /// What is being written, to be waited for by who takes it.
    mutating func takeWriting() -> PendingWrite? {
        defer { writing = nil }
        return writing
    }
}
