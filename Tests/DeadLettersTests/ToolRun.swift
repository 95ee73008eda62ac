import Commands
import DeadLetters
import IndexStage
import Synchronization
import TestSupport
import Testing

/// The tool's output and exit code.
struct ToolRun: Sendable {
    let exitCode: Int32
    /// Standard output.
    let bytes: [UInt8]
    let notes: String

    var result: String { String(decoding: bytes, as: UTF8.self) }

    init(
        _ arguments: [String], environment: [String: String] = [:], isOutputTerminal: Bool = false,
        isInteractive: Bool = false
    ) async {
        let box = Box()
        let console = Console(
            isInteractive: isInteractive, isOutputTerminal: isOutputTerminal,
            output: { bytes in box.said.withLock { $0.result += bytes } },
            notes: { text in box.said.withLock { $0.notes += text } })
        exitCode = await DeadLetterTool.tool(adding: [IndexCommand.self]).run(
            arguments, in: CommandContext(console: console, environment: environment))
        (bytes, notes) = box.said.withLock { $0 }
        PublishedSchema.expect("dead-letter", arguments, bytes)
    }

    private final class Box: Sendable { let said = Mutex((result: [UInt8](), notes: "")) }
}
