/// Detects when librdkafka stops fetching because its queue is full, and when it should continue.
///
/// librdkafka before 2.2 lacks `fetch.queue.backoff.ms`: it checks only once a second whether its queue has room
/// again, unless something else wakes the broker's thread. A consumer that takes more than a full queue in a second
/// then stops, unless its queue holds a second's records.
struct FetchBacklog {
    private let recordsBound: Int
    private let bytesBound: Int
    private var recordsTaken = 0
    private var bytesTaken = 0
    private var hasBeenFull = false

    /// - Parameter properties: the consumer's properties; missing bounds have librdkafka's defaults.
    init(_ properties: [String: String]) {
        recordsBound = properties["queued.min.messages"].flatMap { Int($0) } ?? 100_000
        let kilobytes = properties["queued.max.messages.kbytes"].flatMap { Int($0) } ?? 65_536
        bytesBound = kilobytes * 1_000
    }

    /// Records the size of a poll's result.
    ///
    /// - Parameter queued: number of records that librdkafka still holds; their bytes are estimated from the earlier
    ///   records.
    /// - Returns: whether fetching had stopped and has room to continue.
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

/// Partitions for which requests are sent to their leaders: a request makes the leader's thread check its queue for
/// room.
///
/// A single request is in flight at a time. A partition that gets room during a request is in the next request,
/// because the thread may have checked before there was room.
struct FetchPrompts {
    private var waiting: Set<TopicPartition> = []
    private var isUnderWay = false

    /// - Returns: whether the caller has to send the request, because no request is in flight.
    mutating func add(_ partitions: Set<TopicPartition>) -> Bool {
        waiting.formUnion(partitions)
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// The partitions of the next request.
    ///
    /// `nil` if no request is needed.
    mutating func next() -> Set<TopicPartition>? {
        isUnderWay = !waiting.isEmpty
        defer { waiting = [] }
        return waiting.isEmpty ? nil : waiting
    }
}
