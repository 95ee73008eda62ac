import Synchronization

/// Remembers a state so that it is said once per change, however often it is seen.
package final class StateChange<State: Equatable & Sendable>: Sendable {
    private let state: Mutex<State>

    package init(_ initial: State) {
        state = Mutex(initial)
    }

    package var current: State {
        state.withLock { $0 }
    }

    /// Takes the state as it is now; returns the former one when it was another.
    @discardableResult
    package func update(_ new: State) -> State? {
        state.withLock { state in
            guard state != new else { return nil }
            let former = state
            state = new
            return former
        }
    }
}
