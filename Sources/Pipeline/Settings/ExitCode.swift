import Glibc

/// The exit codes of every executable, as `sysexits.h` numbers them.
package enum ExitCode {
    package static let success: Int32 = 0
    /// The answer is no, or nothing was found to show or change.
    package static let negative: Int32 = 1
    /// Wrong options or operands.
    package static let usage: Int32 = 64
    /// The input does not have the expected contents.
    package static let data: Int32 = 65
    /// A file that cannot be read or written.
    package static let noInput: Int32 = 66
    /// A server that is needed did not answer, or Kafka refused.
    package static let unavailable: Int32 = 69
    /// A fault of this program.
    package static let software: Int32 = 70
    /// Wrong or missing settings.
    package static let configuration: Int32 = 78
    /// The program was ended by Ctrl-C or SIGTERM, as shells number it.
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

    /// Ends the process at once, with what was printed written out: every executable ends here.
    ///
    /// The destructors of libraries do not run, as they do at `exit(3)`: threads that nobody waits
    /// for any more may still be in them. A connection to PostgreSQL that was being made then met
    /// destroyed locks of Kerberos, which aborts the process, after its work was done in order.
    package static func exit(with code: Int32) -> Never {
        fflush(nil)
        _exit(code)
    }
}
