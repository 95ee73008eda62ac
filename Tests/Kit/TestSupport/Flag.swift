import Synchronization

/// Raised once by one task and seen by others.
package final class Flag: Sendable {
    private let state = Atomic(false)

    package init() {}

    package var isRaised: Bool { state.load(ordering: .acquiring) }

    package func raise() { state.store(true, ordering: .releasing) }
}
