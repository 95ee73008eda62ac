import AppStore
import Settings

/// What a command works with.
struct ToolContext: Sendable {
    let arguments: CommandArguments
    let topic: DeadLetterTopic
    let now: Timestamp
    let console: Console

    var isJSON: Bool { arguments.isSet("json") }
}
