import AppStore
import DeadLetters
import Foundation
import Synchronization

/// What the tool said and how it ended.
struct ToolRun: Sendable {
    let exitCode: Int32
    let result: String
    let notes: String

    init(_ arguments: [String], environment: [String: String] = [:]) async {
        let box = Box()
        exitCode = await DeadLetterTool.run(
            arguments,
            environment: environment,
            now: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)),
            output: ToolOutput(
                result: { text in box.said.withLock { $0.result += text } },
                note: { text in box.said.withLock { $0.notes += text } }
            )
        )
        (result, notes) = box.said.withLock { $0 }
    }

    private final class Box: Sendable {
        let said = Mutex((result: "", notes: ""))
    }
}
