import Synchronization

/// A number that only rises; one series of a metric.
package final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    init() {}

    package var value: Int {
        count.load(ordering: .relaxed)
    }

    package func increment(by amount: Int = 1) {
        assert(amount >= 0, "a counter only rises")
        count.wrappingAdd(amount, ordering: .relaxed)
    }
}
