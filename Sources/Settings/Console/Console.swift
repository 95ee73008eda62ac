import Foundation

/// Where a command writes: results to standard output, everything else to standard error.
///
/// Values instead of global functions, so that tests read what a newcomer would.
package struct Console: Sendable {
    private let writeOutput: @Sendable ([UInt8]) -> Void
    private let writeNotes: @Sendable (String) -> Void
    /// Whether notes go to a terminal, where a line can be written over.
    package let isInteractive: Bool
    /// The width of that terminal; 100 where there is none.
    package let columns: Int

    /// - Parameter output: takes what is printed, byte for byte.
    package init(
        isInteractive: Bool,
        columns: Int = 100,
        output: @escaping @Sendable ([UInt8]) -> Void,
        notes: @escaping @Sendable (String) -> Void
    ) {
        self.isInteractive = isInteractive
        self.columns = columns
        writeOutput = output
        writeNotes = notes
    }

    /// One line of the result.
    package func print(_ line: String = "", terminator: String = "\n") {
        writeOutput(Array((line + terminator).utf8))
    }

    /// A result that may be no text, with nothing before or after it.
    package func print(bytes: [UInt8]) {
        writeOutput(bytes)
    }

    /// One line about the work: progress, a warning, a fault.
    package func note(_ line: String) {
        writeNotes(line + "\n")
    }

    /// Replaces the last line of a terminal; use it only where `isInteractive`.
    package func overwrite(_ line: String) {
        writeNotes("\r\u{1B}[K" + line)
    }

    /// The process's own streams.
    package static let standard = Console(
        isInteractive: isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.hasUsableTerminal,
        columns: terminalColumns(),
        output: { write($0, to: STDOUT_FILENO) },
        notes: { write(Array($0.utf8), to: STDERR_FILENO) }
    )

    /// Writes all of it; a reader that has gone away is no fault of ours.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }

    private static func terminalColumns() -> Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return 100
        }
        return Int(size.ws_col)
    }
}

extension ProcessInfo {
    /// A terminal that understands "erase this line".
    fileprivate var hasUsableTerminal: Bool {
        guard let kind = environment["TERM"] else { return false }
        return kind != "dumb"
    }
}
