/// How a command ends, in the numbers of sysexits.h where they say what happened.
package enum ExitCode: Int32, Sendable {
    case success = 0
    /// The command ran, and what it looked at is not as it must be.
    case failed = 1
    /// Wrong options or arguments.
    case usage = 64
    /// Input that does not say what it should.
    case data = 65
    /// A file that cannot be read.
    case noInput = 66
    /// Kafka, PostgreSQL or a program that is needed is not there.
    case unavailable = 69
    /// Wrong settings, or a database or topic that is not as the settings need it.
    case configuration = 78
}
