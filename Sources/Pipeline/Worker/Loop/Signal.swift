import Synchronization

/// Wakes one task that waits for another task, or for a while.
///
/// A signal sent while no task waits is kept for the next wait; several are one.
package final class Signal: Sendable {
    private struct State {
        var isSent = false
        var number = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func send() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard let waiting = state.waiting else {
                state.isSent = true
                return nil
            }
            state.waiting = nil
            return waiting
        }
        waiting?.resume()
    }

    /// Returns at a signal, or when the time is over; for one task at a time.
    package func wait(for time: Duration) async {
        let number: Int? = state.withLock { state in
            if state.isSent {
                state.isSent = false
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
                if state.isSent || state.number != number {
                    state.isSent = false
                    return true
                }
                precondition(state.waiting == nil, "two tasks wait for one signal")
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
