import Synchronization

/// A number that rises and falls; one series of a metric.
package final class Gauge: Sendable {
    private let bits = Atomic<UInt64>(0)

    init() {}

    package var value: Double {
        Double(bitPattern: bits.load(ordering: .relaxed))
    }

    package func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    package func set(_ value: some BinaryInteger) {
        set(Double(value))
    }
}
