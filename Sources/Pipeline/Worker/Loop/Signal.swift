import Synchronization

/// A signal that wakes one waiting task.
///
/// A signal that is sent while no task waits is kept for the next wait; several kept signals count as one.
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

    /// Returns at a signal, or after `time`; only one task at a time may wait.
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

    /// Ends one wait when its time has passed, even if the wait has not begun.
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
