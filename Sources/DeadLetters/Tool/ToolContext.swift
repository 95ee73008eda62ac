import AppStore
import Settings

/// What a command works with.
struct ToolContext: Sendable {
    let arguments: CommandArguments
    let topic: DeadLetterTopic
    let now: Timestamp
    let output: ToolOutput

    var isJSON: Bool { arguments.isSet("json") }
}
