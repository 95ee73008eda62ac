import CRDKafka

/// The names of librdkafka's topic handles, cached so that a record allocates no string.
///
/// Emptied at each rebalance, because a handle's address may be reused for another topic.
@safe struct TopicNames {
    private var names: [OpaquePointer: String] = unsafe [:]

    subscript(handle: OpaquePointer?) -> String {
        mutating get {
            guard let handle = unsafe handle else { return "" }
            if let name = unsafe names[handle] { return name }
            let name = unsafe String(optionalCString: rd_kafka_topic_name(handle))
            unsafe names[handle] = name
            return name
        }
    }

    mutating func removeAll() { unsafe names.removeAll(keepingCapacity: true) }
}

/// librdkafka's list of partitions, which this object owns and frees once.
@safe struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    private init(reserving count: Int) { unsafe pointer = rd_kafka_topic_partition_list_new(Int32(clamping: count)) }

    init(_ partitions: some Collection<TopicPartition>) {
        self.init(reserving: partitions.count)
        for partition in partitions { append(partition, Self.invalidOffset) }
    }

    init(_ offsets: [TopicPartition: Int64]) {
        self.init(reserving: offsets.count)
        for (partition, offset) in offsets { append(partition, offset) }
    }

    init(_ commits: [TopicPartition: OffsetCommit]) {
        self.init(reserving: commits.count)
        for (partition, commit) in commits { append(partition, commit.offset, metadata: commit.metadata) }
    }

    deinit { unsafe rd_kafka_topic_partition_list_destroy(pointer) }

    /// - Parameter metadata: the text of a commit, which librdkafka frees with the list.
    private mutating func append(_ partition: TopicPartition, _ offset: Int64, metadata: String? = nil) {
        let element = unsafe rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)
        guard let element = unsafe element else { return }
        unsafe element.pointee.offset = offset
        guard let metadata else { return }
        unsafe element.pointee.metadata = UnsafeMutableRawPointer(strdup(metadata))
        unsafe element.pointee.metadata_size = metadata.utf8.count
    }

    /// RD_KAFKA_OFFSET_INVALID, a macro that is not imported.
    static let invalidOffset: Int64 = -1001
    /// RD_KAFKA_OFFSET_BEGINNING.
    static let beginning: Int64 = -2
    /// RD_KAFKA_OFFSET_END.
    static let end: Int64 = -1

    borrowing func elements() -> [PartitionListElement] { unsafe Self.elements(of: pointer) }

    /// Copies a value of each partition; throws the error of the first partition that has failed.
    borrowing func values<Value>(_ value: (PartitionListElement) -> Value) throws(KafkaError) -> [TopicPartition: Value]
    {
        var values: [TopicPartition: Value] = [:]
        for element in elements() {
            if let error = element.error { throw error }
            values[element.topicPartition] = value(element)
        }
        return values
    }

    /// Copies a list that librdkafka owns.
    static func elements(of list: UnsafePointer<rd_kafka_topic_partition_list_t>?) -> [PartitionListElement] {
        guard let list = unsafe list else { return [] }
        return (0..<Int(unsafe list.pointee.cnt)).map { index in unsafe PartitionListElement(list.pointee.elems[index])
        }
    }
}

/// A copied entry of a `PartitionList`.
struct PartitionListElement {
    let topicPartition: TopicPartition
    /// librdkafka's offset; negative numbers have special meanings.
    let offset: Int64
    let metadata: String
    let error: KafkaError?

    init(_ element: rd_kafka_topic_partition_t) {
        topicPartition = TopicPartition(
            topic: unsafe String(optionalCString: element.topic), partition: unsafe element.partition)
        offset = unsafe element.offset
        let bytes = unsafe UnsafeRawBufferPointer(
            start: element.metadata, count: element.metadata == nil ? 0 : element.metadata_size)
        metadata = unsafe String(decoding: bytes, as: UTF8.self)
        let code = unsafe element.err
        error = code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
    }

    var committed: CommittedOffset { CommittedOffset(offset: offset, metadata: metadata) }
}
