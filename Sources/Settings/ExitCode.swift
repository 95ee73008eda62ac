/// The exit codes of every executable, as `sysexits.h` numbers them.
package enum ExitCode {
    package static let success: Int32 = 0
    /// The question that the command answers has the answer no.
    package static let negative: Int32 = 1
    /// Wrong options or operands.
    package static let usage: Int32 = 64
    /// Input that does not say what it should.
    package static let data: Int32 = 65
    /// A file that cannot be read.
    package static let noInput: Int32 = 66
    /// A server that is needed did not answer.
    package static let unavailable: Int32 = 69
    /// A fault of this program.
    package static let software: Int32 = 70
    /// Wrong or missing settings.
    package static let configuration: Int32 = 78
}
