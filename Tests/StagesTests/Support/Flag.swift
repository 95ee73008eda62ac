import Synchronization

/// Raised once, seen by all.
final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .acquiring) }

    func raise() { state.store(true, ordering: .releasing) }
}
