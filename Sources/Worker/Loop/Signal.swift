import Synchronization

/// Lets one task wait until another has news, or for a while.
///
/// A ring while nobody waits is kept for the next wait; several are one.
package final class Doorbell: Sendable {
    private struct State {
        var hasRung = false
        var number = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func ring() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard let waiting = state.waiting else {
                state.hasRung = true
                return nil
            }
            state.waiting = nil
            return waiting
        }
        waiting?.resume()
    }

    /// Returns at a ring, or when the time is over; for one task at a time.
    package func wait(for time: Duration) async {
        let number: Int? = state.withLock { state in
            if state.hasRung {
                state.hasRung = false
                return nil
            }
            state.number += 1
            return state.number
        }
        guard let number else { return }
        let timer = Task {
            try? await Task.sleep(for: time)
            end(number)
        }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.hasRung || state.number != number {
                    state.hasRung = false
                    return true
                }
                precondition(state.waiting == nil, "two tasks wait at one doorbell")
                state.waiting = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
        timer.cancel()
    }

    /// The time of one wait is over, whether it has begun or not.
    private func end(_ number: Int) {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.number == number else { return nil }
            state.number += 1
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }
}
