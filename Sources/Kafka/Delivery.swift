import Synchronization

/// The records of one `KafkaProducer.enqueue(_:)` on their way, to be awaited once.
package final class Delivery: Sendable {
    private struct State {
        var remaining: Int
        var offsets: [Int64]
        var failures: [Int: KafkaError] = [:]
        var waiting: [CheckedContinuation<DeliveryReport, Never>] = []
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(State(remaining: count, offsets: Array(repeating: -1, count: count)))
    }

    /// Whether every record has been reported on.
    package var isComplete: Bool {
        state.withLock { $0.remaining == 0 }
    }

    /// Waits until every record is acknowledged or has failed.
    package func report() async -> DeliveryReport {
        await withCheckedContinuation { continuation in
            let report: DeliveryReport? = state.withLock { state in
                guard state.remaining > 0 else {
                    return DeliveryReport(offsets: state.offsets, failures: state.failures)
                }
                state.waiting.append(continuation)
                return nil
            }
            if let report {
                continuation.resume(returning: report)
            }
        }
    }

    /// Called once for each record.
    func settle(_ index: Int, offset: Int64, error: KafkaError?) {
        let finished: ([CheckedContinuation<DeliveryReport, Never>], DeliveryReport)? =
            state.withLock { state in
                precondition(state.remaining > 0, "a record was reported on twice")
                state.remaining -= 1
                state.offsets[index] = offset
                state.failures[index] = error
                guard state.remaining == 0 else { return nil }
                defer { state.waiting = [] }
                return (
                    state.waiting,
                    DeliveryReport(offsets: state.offsets, failures: state.failures)
                )
            }
        guard let (waiting, report) = finished else { return }
        for continuation in waiting {
            continuation.resume(returning: report)
        }
    }
}
