import Glibc

/// The exit codes of every executable, with the numbers of `sysexits.h`.
package enum ExitCode {
    package static let success: Int32 = 0
    /// The answer is no, or nothing was found to show or change.
    package static let negative: Int32 = 1
    /// The options or operands are wrong.
    package static let usage: Int32 = 64
    /// The input does not have the expected contents.
    package static let data: Int32 = 65
    /// A file cannot be read or written.
    package static let noInput: Int32 = 66
    /// A required server did not answer, or Kafka refused a request.
    package static let unavailable: Int32 = 69
    /// The program itself has a fault.
    package static let software: Int32 = 70
    /// Settings are wrong or missing.
    package static let configuration: Int32 = 78
    /// The program was ended by Ctrl-C or SIGTERM; shells use the same number.
    package static let interrupted: Int32 = 130

    /// Each code with its meaning, for the help and `deploy/SETTINGS.md`.
    package static let meanings: [(code: Int32, meaning: String)] = [
        (success, "done"),
        (
            negative,
            "the answer is no: nothing was found to show or change, something does not add up, or --yes is missing"
        ), (usage, "wrong command, options or operands"),
        (data, "input that does not say what it should, or that the database refuses"),
        (noInput, "a file that cannot be read or written"),
        (unavailable, "Kafka or PostgreSQL does not answer, or Kafka lacks the topic or the right"),
        (software, "a fault of this program"),
        (configuration, "wrong or missing settings or schema, or rights in PostgreSQL"), (interrupted, "interrupted"),
    ]

    /// Flushes the output and ends the process at once; every executable ends here.
    ///
    /// Destructors of libraries do not run, unlike with `exit(3)`, because other threads may still
    /// use these libraries. With `exit(3)` a thread that was connecting to PostgreSQL used
    /// destroyed locks of Kerberos, which aborted the process after all its work was done.
    package static func exit(with code: Int32) -> Never {
        fflush(nil)
        _exit(code)
    }
}
