import Testing

@testable import Kafka

/// Prompts to fetch again, as librdkafka alone checks only once a second whether its full queue has
/// room.
struct FetchBacklogTests {
    private typealias Poll = (records: Int, bytes: Int, queued: Int)

    /// Indexes of the polls after which fetching is to be prompted.
    private func prompts(
        after polls: [Poll],
        _ properties: [String: String] = ["queued.min.messages": "2000", "queued.max.messages.kbytes": "100"]
    ) -> [Int] {
        var backlog = FetchBacklog(properties)
        return polls.indices.filter { index in
            let poll = polls[index]
            return backlog.took(records: poll.records, bytes: poll.bytes, leaving: poll.queued)
        }
    }

    @Test func `a queue that was full is to be filled again as soon as half of it is free`() {
        let polls: [Poll] = [(500, 500, 2_500), (500, 500, 2_000), (500, 500, 1_500), (500, 500, 900), (500, 500, 400)]
        #expect(prompts(after: polls) == [3])
    }

    @Test func `few large records fill it as well as many small ones`() {
        #expect(prompts(after: [(2, 20_000, 9), (5, 50_000, 4)]) == [1])
    }

    @Test func `a kilobyte of librdkafka's is a thousand bytes`() {
        #expect(prompts(after: [(10, 10_000, 90), (90, 90_000, 0)]) == [1])
        #expect(prompts(after: [(10, 10_000, 89), (89, 89_000, 0)]) == [])
    }

    @Test func `a queue that never was full is left alone, however much goes through it`() {
        let polls = (0..<1_000).flatMap { _ -> [Poll] in [(300, 3_000, 0), (0, 0, 0)] }
        #expect(prompts(after: polls) == [])
    }

    @Test func `bounds that are not set are librdkafka's own`() {
        let polls: [Poll] = [
            (1_000, 1_000, 90_000), (50_000, 50_000, 40_000), (1, 1, 0), (50_000, 50_000, 50_001), (50_001, 50_001, 0),
        ]
        #expect(prompts(after: polls, [:]) == [4])
    }

    @Test func `what is to be asked during a question is asked after it`() {
        let (one, two) = (TopicPartition(topic: "t", partition: 1), TopicPartition(topic: "t", partition: 2))
        var prompts = FetchPrompts()
        let isFirst = prompts.add([one])
        let first = prompts.next()
        let isSecond = prompts.add([one])
        let isThird = prompts.add([two])
        let second = prompts.next()
        let third = prompts.next()
        let isFourth = prompts.add([two])
        #expect(first == [one] && second == [one, two] && third == nil)
        // The task that adds must ask if no other one does.
        #expect([isFirst, isSecond, isThird, isFourth] == [true, false, false, true])
    }
}
