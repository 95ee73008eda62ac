package import Commands
import Synchronization

/// A console that keeps what a command wrote.
package final class ConsoleTranscript: Sendable {
    private let text = Mutex((output: "", notes: ""))

    package init() {}

    package var output: String { text.withLock { $0.output } }
    package var notes: String { text.withLock { $0.notes } }

    package func console(
        isInteractive: Bool = false, isOutputTerminal: Bool = false, columns: Int = 100, rows: Int = 24
    ) -> Console {
        Console(
            isInteractive: isInteractive, isOutputTerminal: isOutputTerminal, columns: columns, rows: rows,
            output: { [self] bytes in text.withLock { $0.output += String(decoding: bytes, as: UTF8.self) } },
            notes: { [self] line in text.withLock { $0.notes += line } })
    }
}

extension CommandTool {
    /// Runs a command line whose output and notes go to a transcript; returns the exit code.
    package func run(_ arguments: [String], _ environment: [String: String] = [:], on transcript: ConsoleTranscript)
        async -> Int32
    { await run(arguments, in: CommandContext(console: transcript.console(), environment: environment)) }
}
