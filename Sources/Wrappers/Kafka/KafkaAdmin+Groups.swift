import CRDKafka

/// A member of a consumer group, and the member's assigned partitions.
package struct GroupMembership: Hashable, Sendable {
    /// The member's `client.id`.
    package let client: String
    /// The address of the member's connection.
    package let host: String
    package let partitions: [TopicPartition]
}

extension KafkaAdmin {
    /// Lists a group's members, sorted by client; empty without members.
    ///
    /// This uses librdkafka's older call: in the newer call, an assertion ends the process if a broker answers after
    /// the deadline (librdkafka's issue 4605).
    package func groupMembers(_ group: String, deadline: Duration) async throws(KafkaError) -> KafkaAnswer<
        [GroupMembership]
    > {
        try await answer(within: deadline) { client throws(KafkaError) in
            var list: UnsafePointer<rd_kafka_group_list>?
            let code = unsafe rd_kafka_list_groups(client.pointer, group, &list, deadline.millisecondsClamped)
            defer { if let list = unsafe list { unsafe rd_kafka_group_list_destroy(list) } }
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let list = unsafe list else { throw KafkaError(code) }
            var members: [GroupMembership] = []
            for index in 0..<Int(unsafe list.pointee.group_cnt) {
                let found = unsafe list.pointee.groups[index]
                guard unsafe found.err == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(unsafe found.err) }
                for index in 0..<Int(unsafe found.member_cnt) {
                    unsafe members.append(GroupMembership(found.members[index]))
                }
            }
            return members.sorted { ($0.client, $0.host) < ($1.client, $1.host) }
        }
    }
}

extension GroupMembership {
    init(_ member: rd_kafka_group_member_info) {
        let assignment = unsafe UnsafeRawBufferPointer(
            start: member.member_assignment, count: Int(max(0, member.member_assignment_size)))
        unsafe self.init(
            client: String(optionalCString: member.client_id),
            host: String(String(optionalCString: member.client_host).drop { $0 == "/" }),
            partitions: Self.partitions(in: Array(assignment)).sorted())
    }

    /// Reads the assignment of Kafka's consumer protocol: a version, then topics and partitions.
    ///
    /// Stops at bytes that it cannot read: a group in a rebalance has no assignments.
    static func partitions(in bytes: [UInt8]) -> [TopicPartition] {
        var rest = bytes.dropFirst(2)
        func integer(_ size: Int) -> Int? {
            guard rest.count >= size else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
        }
        var partitions: [TopicPartition] = []
        for _ in 0..<(integer(4) ?? 0) {
            guard let length = integer(2), rest.count >= length else { break }
            let topic = String(decoding: rest.prefix(length), as: UTF8.self)
            rest = rest.dropFirst(length)
            for _ in 0..<(integer(4) ?? 0) {
                guard let number = integer(4) else { return partitions }
                partitions.append(TopicPartition(topic: topic, partition: Int32(clamping: number)))
            }
        }
        return partitions
    }
}
