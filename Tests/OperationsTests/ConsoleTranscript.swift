import Operations
import Synchronization
import Settings

/// A console that keeps what a command wrote.
final class ConsoleTranscript: Sendable {
    private let text = Mutex((output: "", notes: ""))

    var output: String { text.withLock { $0.output } }
    var notes: String { text.withLock { $0.notes } }

    func console(isInteractive: Bool = false, columns: Int = 100) -> Console {
        Console(
            isInteractive: isInteractive,
            columns: columns,
            output: { [self] bytes in
                text.withLock { $0.output += String(decoding: bytes, as: UTF8.self) }
            },
            notes: { [self] line in text.withLock { $0.notes += line } }
        )
    }
}
