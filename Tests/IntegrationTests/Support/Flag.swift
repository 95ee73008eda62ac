import Synchronization

/// Raised once by one task and seen by others.
final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .acquiring) }

    func raise() {
        state.store(true, ordering: .releasing)
    }
}
