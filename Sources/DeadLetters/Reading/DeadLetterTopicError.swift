/// Why the dead-letter topic could not be read.
package struct DeadLetterTopicError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// librdkafka does not take the settings.
        case configuration
        case unreachable
        case noTopic
        /// The brokers stopped answering on the way.
        case stalled
    }

    package let code: Code

    /// Says what was asked of whom, and what to look at.
    package let description: String
}
