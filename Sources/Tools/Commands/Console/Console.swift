import Glibc
package import JSON
import Platform
package import Settings

/// The outputs of a command: results go to standard output, everything else to standard error.
///
/// Output may contain untrusted text. The console always makes it printable: only the control
/// characters of this file reach a terminal, and no text breaks its line. Raw bytes go to a
/// terminal only if an option requests them.
///
/// The console is a value, not a set of global functions, so that tests read the same output as a person.
package struct Console: Sendable {
    private let writeOutput: @Sendable ([UInt8]) -> Void
    private let writeNotes: @Sendable (String) -> Void
    /// Whether notes go to a terminal, on which a line can be overwritten.
    package let isInteractive: Bool
    /// Whether results go to a terminal, which interprets control characters.
    package let isOutputTerminal: Bool
    /// Whether the results' terminal supports colours and the user has not refused them (NO_COLOR).
    private let isColoured: Bool
    /// The width of the notes' terminal at the start, in columns; 100 without a terminal.
    package let columns: Int
    /// The present size of the results' terminal.
    ///
    /// `nil` without a terminal.
    private let outputSize: @Sendable () -> (columns: Int, rows: Int)?
    /// The present width for tables, in columns.
    ///
    /// `nil` without a terminal.
    private let tableColumns: @Sendable () -> Int?

    /// - Parameter output: receives the printed bytes.
    package init(
        isInteractive: Bool, isOutputTerminal: Bool = false, isColoured: Bool = false, columns: Int = 100,
        rows: Int = 24, output: @escaping @Sendable ([UInt8]) -> Void, notes: @escaping @Sendable (String) -> Void
    ) {
        self.isInteractive = isInteractive
        self.isOutputTerminal = isOutputTerminal
        self.isColoured = isColoured
        self.columns = columns
        outputSize = { (columns, rows) }
        tableColumns = { isOutputTerminal ? columns : nil }
        writeOutput = output
        writeNotes = notes
    }

    /// Prints a line of the result; a line break in it is made visible and does not end the line.
    ///
    /// - Parameter isBad: whether the line reports a problem, which a terminal shows in red.
    package func print(_ line: String = "", isBad: Bool = false) { print(TextLine(line, isBad: isBad)) }

    /// Prints a line of the result.
    package func print(_ line: TextLine) { writeOutput(Array((shown(line, Printable.line(line.text)) + "\n").utf8)) }

    /// Prints lines and tables of the result; tables fit the terminal, if there is one.
    ///
    /// - Parameter isWide: whether all columns are shown regardless of the width.
    package func print(_ parts: [TextPart], isWide: Bool = false) {
        let (lines, hidden) = parts.fitted(to: isWide ? nil : tableColumns())
        lines.forEach { print($0) }
        guard !hidden.isEmpty else { return }
        note("no room for \(hidden.joined(separator: ", ")): --wide shows all")
    }

    /// Prints a table of the result; it fits the terminal, if there is one.
    package func print(_ table: TextTable, isWide: Bool = false) { print([.table(table)], isWide: isWide) }

    /// - Parameter text: the line's text, made printable.
    private func shown(_ line: TextLine, _ text: String) -> String {
        line.isBad && isColoured ? "\u{1B}[31m\(text)\u{1B}[m" : text
    }

    /// Prints several lines of the result, such as a command's help; the last may lack its line break.
    package func print(text: String) { writeOutput(Array(Self.wholeLines(text).utf8)) }

    /// Prints the outcome of a check below the earlier output; returns its exit code.
    package func print(_ outcome: CommandOutcome) -> Int32 {
        print(text: "\n" + outcome.output)
        if !outcome.errors.isEmpty { note(outcome.errors) }
        return outcome.exitCode
    }

    /// Prints a JSON value of the result on a separate line.
    package func print(json value: some JSONRepresentable) { print(json: value.json.bytes) }

    /// Prints a JSON value of the result on a separate line.
    package func print(json: [UInt8]) {
        writeOutput(Array((Printable.json(String(decoding: json, as: UTF8.self)) + "\n").utf8))
    }

    /// Writes a result of any bytes, with nothing before or after it.
    ///
    /// - Parameter isForced: whether to write even to a terminal.
    /// - Returns: false if nothing was written, because the output is a terminal.
    package func write(bytes: [UInt8], isForced: Bool) -> Bool {
        guard !isOutputTerminal || isForced else { return false }
        writeOutput(bytes)
        return true
    }

    /// Writes lines about the work, such as progress, a warning or a fault; the last may lack its line break.
    package func note(_ text: String) { writeNotes(Self.wholeLines(text)) }

    /// Replaces the last line of a terminal; use it only if `isInteractive`.
    ///
    /// - Parameter isEnded: whether the line is kept, so that further output begins a new line.
    package func overwrite(_ line: String, isEnded: Bool = false) {
        writeNotes("\r\u{1B}[K" + Printable.line(line) + (isEnded ? "\n" : ""))
    }

    /// Writes a note, which on a terminal replaces a line of progress.
    package func interject(_ line: String) { if isInteractive { overwrite(line, isEnded: true) } else { note(line) } }

    /// Replaces the whole contents of the results' terminal by lines; use it only if `isOutputTerminal`.
    ///
    /// - Parameter lines: returns the lines for a width in columns. Lines are cut to the terminal's
    ///   current size, so that nothing scrolls.
    package func redraw(_ lines: (_ width: Int) -> [TextLine]) {
        let (columns, rows) = outputSize() ?? (100, 24)
        let width = max(1, columns - 1)
        // Move the cursor home, erase each line's rest, then everything below (ECMA-48: CUP, EL and ED).
        let drawn = lines(width).prefix(max(1, rows - 1)).map { line in
            let text = Printable.fitting(Printable.line(line.text), width: width)
            return shown(line, text) + "\u{1B}[K\n"
        }
        writeOutput(Array(("\u{1B}[H" + drawn.joined() + "\u{1B}[J").utf8))
    }

    private static func wholeLines(_ text: String) -> String {
        Printable.lines(text) + (text.utf8.last == UInt8(ascii: "\n") ? "" : "\n")
    }

    /// The console of the process's standard streams.
    package static let standard = Console(output: STDOUT_FILENO, notes: STDERR_FILENO)

    /// Creates a console of two open descriptors, which the caller owns.
    package init(output: Int32, notes: Int32) {
        isInteractive = Terminal.isBehind(notes) && Terminal.isErasable
        isOutputTerminal = Terminal.isBehind(output)
        let refusal = ProcessEnvironment.variables["NO_COLOR"] ?? ""
        isColoured = isOutputTerminal && refusal.isEmpty && Terminal.isErasable
        columns = Terminal.size(of: notes)?.columns ?? 100
        outputSize = { Terminal.size(of: output) }
        tableColumns = { Terminal.isBehind(output) ? Terminal.columns(of: output) : nil }
        // Ignore failed writes: a closed reader is not an error of the command.
        writeOutput = { FileSystem.write($0, to: output) }
        writeNotes = { FileSystem.write(Array($0.utf8), to: notes) }
    }
}
