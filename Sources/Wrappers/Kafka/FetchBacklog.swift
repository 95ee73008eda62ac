/// Tracks when librdkafka stops fetching because it holds enough, and when it should continue.
///
/// Releases of librdkafka before 2.2, which has `fetch.queue.backoff.ms`, look only once a second
/// whether their queue has room again, unless something else wakes the broker's thread. A consumer
/// that takes more than a queue in a second stands still, or has to hold a second's worth.
struct FetchBacklog {
    private let recordsBound: Int
    private let bytesBound: Int
    private var recordsTaken = 0
    private var bytesTaken = 0
    private var hasBeenFull = false

    /// - Parameter properties: the consumer's; bounds that they do not name are librdkafka's.
    init(_ properties: [String: String]) {
        recordsBound = properties["queued.min.messages"].flatMap { Int($0) } ?? 100_000
        let kilobytes = properties["queued.max.messages.kbytes"].flatMap { Int($0) } ?? 65_536
        bytesBound = kilobytes * 1_000
    }

    /// Records the size of a poll's result.
    ///
    /// - Parameter queued: the records that librdkafka still holds; their bytes are estimated from
    ///   those of the records before.
    /// - Returns: whether fetching had stopped, and has room to continue.
    mutating func took(records: Int, bytes: Int, leaving queued: Int) -> Bool {
        recordsTaken += records
        bytesTaken += bytes
        guard recordsTaken > 0 else { return false }
        let bytesEach = bytesTaken / recordsTaken
        let heldMax = recordsTaken + queued
        hasBeenFull = hasBeenFull || heldMax >= recordsBound || heldMax * bytesEach >= bytesBound
        let hasRoom = queued < recordsBound / 2 && queued * bytesEach < bytesBound / 2
        guard hasRoom || queued == 0 else { return false }
        defer {
            recordsTaken = 0
            bytesTaken = 0
            hasBeenFull = false
        }
        return hasBeenFull
    }
}

/// The partitions whose leaders' threads are to look for room, which they do when they are asked
/// something.
///
/// A single request is in flight at a time. A partition that gets room during a request is in the
/// one after it, because the thread may have looked before there was room.
struct FetchPrompts {
    private var waiting: Set<TopicPartition> = []
    private var isUnderWay = false

    /// - Returns: whether the caller has to send the request, because none is in flight.
    mutating func add(_ partitions: Set<TopicPartition>) -> Bool {
        waiting.formUnion(partitions)
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// The partitions of the next question; nil ends the asking.
    mutating func next() -> Set<TopicPartition>? {
        isUnderWay = !waiting.isEmpty
        defer { waiting = [] }
        return waiting.isEmpty ? nil : waiting
    }
}
