import Synchronization

/// A client for callers on any thread, until it is closed.
final class SharedClient: Sendable {
    private let state: Mutex<ClientHandle?>

    init(_ client: ClientHandle) {
        state = Mutex(client)
    }

    var client: ClientHandle? {
        state.withLock { $0 }
    }

    func close() {
        state.withLock { $0 = nil }
    }
}
