import Operations
import Synchronization

/// A console that keeps what a command wrote.
final class ConsoleTranscript: Sendable {
    private let text = Mutex((output: "", notes: ""))

    var output: String { text.withLock { $0.output } }
    var notes: String { text.withLock { $0.notes } }

    func console(isInteractive: Bool = false, columns: Int = 100) -> Console {
        Console(
            isInteractive: isInteractive,
            columns: columns,
            output: { [self] line in text.withLock { $0.output += line } },
            notes: { [self] line in text.withLock { $0.notes += line } }
        )
    }
}
