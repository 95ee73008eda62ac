import Kafka
import Synchronization
import TestSupport
import Worker

/// An outbox whose records a test puts in.
final class FakeOutbox: Outbox {
    struct State {
        var waiting: [ProducerRecord] = []
        var occasions = 0
        var isClosed = false
        var isFailing = false
    }

    struct Fault: Error {}

    private let state = Mutex(State())
    let writesRecords: Bool

    init(writesRecords: Bool = true) { self.writesRecords = writesRecords }

    var seen: State { state.withLock { $0 } }

    func put(_ records: [ProducerRecord]) { state.withLock { $0.waiting += records } }

    func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

    func waitForWork() async throws {
        _ = await becomesTrue(within: .milliseconds(20)) { !seen.waiting.isEmpty }
        state.withLock { $0.occasions += 1 }
    }

    func empty(_ deliver: @escaping OutboxDelivery) async throws {
        if seen.isFailing { throw Fault() }
        let records = state.withLock(\.waiting)
        guard !records.isEmpty else { return }
        try await deliver(records)
        state.withLock { $0.waiting.removeFirst(records.count) }
    }

    func close() async { state.withLock { $0.isClosed = true } }
}
