/// Why a record of the dead-letter topic is no dead letter.
package struct DeadLetterError: Error, Equatable, Sendable {
    /// The header that is missing or not as it should be.
    package let header: String
}
