import Synchronization

/// The records of one `KafkaProducer.enqueue(_:)` on their way to the brokers, to be awaited once.
package final class Delivery: Sendable {
    private struct State {
        var remaining: Int
        var offsets: [Int64]
        var failures: [Int: KafkaError] = [:]
        var repeated: Set<Int> = []
        var waiting: [CheckedContinuation<DeliveryReport, Never>] = []
        /// Waiters with a deadline, by their number.
        var impatient: [Int: Impatient] = [:]
        var impatientCount = 0

        /// Removes the waiters that need no further reports.
        mutating func removeServed() -> [Served] {
            guard !impatient.isEmpty else { return [] }
            let served = impatient.filter { $0.value.remaining >= remaining }
            for number in served.keys { impatient[number] = nil }
            return served.values.map(\.continuation)
        }
    }

    private struct Impatient {
        /// Number of records that may still be unreported.
        let remaining: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(remaining: count, offsets: Array(repeating: -1, count: count))) }

    /// Whether every record has a report.
    package var isComplete: Bool { state.withLock { $0.remaining == 0 } }

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
            if let report { continuation.resume(returning: report) }
        }
    }

    /// Waits until `count` records are acknowledged or have failed, at most for `limit`.
    ///
    /// - Parameter count: the number of records; `nil` means all records.
    func settled(_ count: Int? = nil, within limit: Duration) async {
        var timer: Task<Void, Never>?
        await withCheckedContinuation { continuation in
            let number: Int? = state.withLock { state in
                let remaining = count.map { state.offsets.count - $0 } ?? 0
                guard state.remaining > remaining else { return nil }
                state.impatientCount += 1
                state.impatient[state.impatientCount] = Impatient(remaining: remaining, continuation: continuation)
                return state.impatientCount
            }
            guard let number else {
                continuation.resume()
                return
            }
            timer = Task {
                try? await Task.sleep(for: limit)
                state.withLock { $0.impatient.removeValue(forKey: number) }?.continuation.resume()
            }
        }
        timer?.cancel()
    }

    /// Marks a record as sent again.
    ///
    /// - Returns: whether this is the record's first repetition.
    func mayRepeat(_ index: Int) -> Bool { state.withLock { $0.repeated.insert(index).inserted } }

    /// Records the report of one record; called once for each record.
    func settle(_ index: Int, offset: Int64, error: KafkaError?) {
        let (served, finished) = state.withLock { state -> ([Served], State?) in
            precondition(state.remaining > 0, "a record was reported on twice")
            state.remaining -= 1
            state.offsets[index] = offset
            if let error { state.failures[index] = error }
            let served = state.removeServed()
            guard state.remaining == 0 else { return (served, nil) }
            defer { state.waiting = [] }
            return (served, state)
        }
        for continuation in served { continuation.resume() }
        guard let finished else { return }
        let report = DeliveryReport(offsets: finished.offsets, failures: finished.failures)
        for continuation in finished.waiting { continuation.resume(returning: report) }
    }

    private typealias Served = CheckedContinuation<Void, Never>
}

/// The results of one delivery's records, by their index.
package struct DeliveryReport: Sendable, Equatable {
    /// The offset of each record; -1 if it failed.
    package let offsets: [Int64]
    /// Errors of the records that failed, by index; empty when all are acknowledged by all in-sync
    /// replicas.
    package let failures: [Int: KafkaError]

    package var isComplete: Bool { failures.isEmpty }
}

/// The opaque pointers of one delivery's records: each points to a ticket with the record's index.
///
/// A single allocation serves the whole delivery, and is freed with its last ticket.
@safe final class DeliveryTickets: @unchecked Sendable {
    @safe struct Ticket {
        let owner: Unmanaged<DeliveryTickets>
        let index: Int
    }

    let delivery: Delivery
    private let tickets: UnsafeMutableBufferPointer<Ticket>

    init(_ delivery: Delivery, count: Int) {
        self.delivery = delivery
        unsafe tickets = .allocate(capacity: count)
        for index in 0..<count {
            let ticket = unsafe Ticket(owner: .passUnretained(self), index: index)
            unsafe tickets.initializeElement(at: index, to: ticket)
        }
    }

    deinit { unsafe tickets.deallocate() }

    /// Returns a pointer for librdkafka, which returns it exactly once, to `redeem(_:)`.
    func issue(_ index: Int) -> UnsafeMutableRawPointer? {
        _ = unsafe Unmanaged.passRetained(self)
        guard let first = unsafe tickets.baseAddress else { return nil }
        return unsafe UnsafeMutableRawPointer(first + index)
    }

    /// Whether the record of a pointer may be sent again, which is allowed once; the pointer stays issued.
    static func mayRepeat(_ pointer: UnsafeMutableRawPointer) -> Bool {
        let ticket = unsafe pointer.assumingMemoryBound(to: Ticket.self).pointee
        return unsafe ticket.owner._withUnsafeGuaranteedRef { tickets in tickets.delivery.mayRepeat(ticket.index) }
    }

    /// Frees a ticket, and returns its delivery and its record's index.
    static func redeem(_ pointer: UnsafeMutableRawPointer) -> (Delivery, index: Int) {
        let ticket = unsafe pointer.assumingMemoryBound(to: Ticket.self).pointee
        let delivery = unsafe ticket.owner.takeUnretainedValue().delivery
        let index = ticket.index
        unsafe ticket.owner.release()
        return (delivery, index)
    }
}
