import Synchronization

/// The values that a callback received.
final class Recorded<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock(\.self) }

    func append(_ value: Value) { values.withLock { $0.append(value) } }
}
