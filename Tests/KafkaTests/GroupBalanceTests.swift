import Testing

@testable import Kafka

struct GroupBalanceTests {
    @Test(arguments: [("up", "steady", true), ("up", "wait-join", false), ("wait-coord", "steady", false)])
    func `a group is balanced if its coordinator is known and nobody joins`(
        state: String, joining: String, isBalanced: Bool
    ) {
        let callbacks = ClientCallbacks(handlers: KafkaHandlers())
        #expect(callbacks.takeBalance() == nil)
        callbacks.record(
            statistics: """
                { "name": "a", "cgrp": { "state": "\(state)", "stateage": 1, \
                "join_state": "\(joining)", "rebalance_cnt": 2 } }
                """)
        #expect(callbacks.takeBalance() == isBalanced)
        #expect(callbacks.takeBalance() == nil)
    }
}
