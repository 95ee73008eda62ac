/// A command line that cannot be understood; ends a program with `ExitCode.usage`.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Says what is wrong and what was expected.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}
