import Synchronization

/// How often values fell into which range; one series of a metric.
package final class Histogram: Sendable {
    struct Snapshot: Sendable {
        /// Per bound, and last for what is above all of them; not cumulative.
        var counts: [Int]
        var sum = 0.0
    }

    /// Upper bounds, ascending, each belonging to its range.
    let bounds: [Double]
    private let state: Mutex<Snapshot>

    /// From half a millisecond to half a minute, for durations in seconds.
    package static let secondsBounds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    /// Powers of four, for numbers of records.
    package static let countBounds: [Double] = [1, 4, 16, 64, 256, 1024, 4096, 16_384]

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(Snapshot(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    package func observe(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    /// Observes a duration in seconds.
    package func observe(_ duration: Duration) {
        observe(duration / .seconds(1))
    }

    var snapshot: Snapshot {
        state.withLock { $0 }
    }
}
