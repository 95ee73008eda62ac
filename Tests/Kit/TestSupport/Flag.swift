import Synchronization

/// A flag that one task raises once and others read.
package final class Flag: Sendable {
    private let state = Atomic(false)

    package init() {}

    package var isRaised: Bool { state.load(ordering: .acquiring) }

    package func raise() { state.store(true, ordering: .releasing) }
}
