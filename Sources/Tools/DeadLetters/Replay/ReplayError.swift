/// The reason why a replay does not begin or continue.
package struct ReplayError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case notFound
        /// Another process runs the replay.
        case running
        /// The replay is completed, or the request does not fit its state.
        case finished
        /// Nothing is left to be sent.
        case empty
        /// The selection holds more letters than one replay takes.
        case tooMany
        /// The auditor, the reason or a limit is invalid.
        case invalid
        /// The replay can be continued: a server did not answer, or nothing was decided in time.
        case interrupted
    }

    package let code: Code
    /// A sentence for the operator, with what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
