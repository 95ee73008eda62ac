import Testing

@testable import Kafka

@Suite struct GroupMembershipTests {
    /// Version 1, topics `raw` with the partitions 0 and 258, and `b` with none, then no user data.
    private static let assignment: [UInt8] =
        [0, 1, 0, 0, 0, 2, 0, 3] + Array("raw".utf8) + [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 2, 0, 1] + Array("b".utf8) + [
            0, 0, 0, 0, 255, 255, 255, 255,
        ]

    @Test func `a member's partitions are read from its assignment`() {
        #expect(
            GroupMembership.partitions(in: Self.assignment) == [
                TopicPartition(topic: "raw", partition: 0), TopicPartition(topic: "raw", partition: 258),
            ])
    }

    @Test func `an assignment that ends early, or claims more than there is, ends the reading`() {
        for count in Self.assignment.indices {
            let partitions = GroupMembership.partitions(in: Array(Self.assignment.prefix(count)))
            #expect(partitions.count <= 2)
        }
        let most = Array(repeating: UInt8.max, count: 4)
        let claims = [0, 1] + most + [0, 1, 97] + most + most
        #expect(GroupMembership.partitions(in: claims) == [TopicPartition(topic: "a", partition: Int32.max)])
    }
}
