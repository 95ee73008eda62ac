import Commands
import Foundation
import JSON
import Settings
import Synchronization
import TestSupport
import Testing

/// Texts of strangers on a terminal.
@Suite struct ConsoleTests {
    private static let hostile = "a\u{1B}[2J\u{9B}1m\u{202E}b\u{E0041}\u{3164}"
    private static let shown = #"a\u{1b}[2J\u{9b}1m\u{202e}b\u{e0041}\u{3164}"#

    private final class Written: Sendable {
        let text = Mutex((output: [UInt8](), notes: ""))
        var output: String { String(decoding: text.withLock { $0.output }, as: UTF8.self) }
        var notes: String { text.withLock { $0.notes } }

        func console(isOutputTerminal: Bool = false, isColoured: Bool = false, columns: Int = 100) -> Console {
            Console(
                isInteractive: true, isOutputTerminal: isOutputTerminal, isColoured: isColoured, columns: columns,
                output: { [self] bytes in text.withLock { $0.output += bytes } },
                notes: { [self] note in text.withLock { $0.notes += note } })
        }
    }

    @Test func `whatever a command prints as a line is one line that can only be read`() {
        let written = Written()
        written.console().print(Self.hostile + "\nforged")
        #expect(written.output == Self.shown + #"\u{a}forged"# + "\n")
    }

    @Test func `a reader that is slower than the command gets all of its output`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (FileHandle(fileDescriptor: ends[0]), ends[1])
        // As a program leaves it that shares the terminal or pipe.
        try #require(fcntl(writing, F_SETFL, O_NONBLOCK) == 0)
        let line = String(repeating: "x", count: 1 << 20)
        Thread.detachNewThread {
            Console(output: writing, notes: writing).print(line)
            close(writing)
        }
        #expect(reading.readDataToEndOfFile().count == line.utf8.count + 1)
    }

    @Test func `texts and notes keep their lines and nothing else`() {
        let written = Written()
        written.console().print(text: "one\n" + Self.hostile)
        written.console().note("two\r\n" + Self.hostile + "\n")
        #expect(written.output == "one\n" + Self.shown + "\n")
        #expect(written.notes == "two\\u{d}\n" + Self.shown + "\n")
    }

    @Test func `a line that is written over holds the console's own control characters alone`() {
        let written = Written()
        written.console().overwrite(Self.hostile)
        written.console().overwrite("done", isEnded: true)
        #expect(written.notes == "\r\u{1B}[K" + Self.shown + "\r\u{1B}[Kdone\n")
    }

    @Test func `what is bad is red where colours are wanted, and hostile text stays text`() {
        let written = Written()
        written.console(isOutputTerminal: true, isColoured: true).print(Self.hostile, isBad: true)
        written.console(isOutputTerminal: true).print(Self.hostile, isBad: true)
        written.console(isOutputTerminal: true, isColoured: true).print("fine")
        #expect(written.output == "\u{1B}[31m\(Self.shown)\u{1B}[m\n\(Self.shown)\nfine\n")
    }

    @Test func `a table fits the terminal unless all is wanted, and is whole in a pipe`() {
        var table = TextTable([.init("id"), .init("reason", rank: 1)])
        table.add(["a", "\u{1B}[2Jwrong"])
        let whole = "id  reason\n" + #"a   \u{1b}[2Jwrong"# + "\n"
        let written = Written()
        written.console(isOutputTerminal: true, columns: 12).print(table)
        #expect(written.output == "id\na\n")
        #expect(written.notes == "no room for reason: --wide shows all\n")
        let wide = Written()
        wide.console(isOutputTerminal: true, columns: 12).print(table, isWide: true)
        wide.console(columns: 12).print(table)
        #expect(wide.output == whole + whole)
        #expect(wide.notes.isEmpty)
    }

    @Test func `JSON is escaped and means the same`() throws {
        let written = Written()
        var writer = JSONWriter()
        writer.array { writer in
            writer.string(Self.hostile)
            writer.raw(Array("{\t\"b\":\r\n1}".utf8))
        }
        written.console().print(json: writer.bytes)
        let line = written.output
        #expect(line.dropLast().unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
        let value = try JSONDocument(parsing: Array(line.utf8.dropLast())).root
        #expect(value.elements.compactMap(\.string).first == Self.hostile)
    }

    @Test func `raw bytes reach no terminal without the option`() throws {
        let terminal = try PseudoTerminal()
        let console = Console(output: terminal.descriptor, notes: terminal.descriptor)
        #expect(console.isOutputTerminal)
        #expect(!console.write(bytes: Array("\u{1B}[2J".utf8), isForced: false))
        #expect(console.write(bytes: Array("\u{1B}[3J!".utf8), isForced: true))
        #expect(terminal.read(until: UInt8(ascii: "!")) == "\u{1B}[3J!")
    }

    @Test func `a pipe gets the bytes as they are`() {
        let written = Written()
        #expect(written.console().write(bytes: [0, 0x1B, 0xFF], isForced: false))
        #expect(written.text.withLock { $0.output } == [0, 0x1B, 0xFF])
    }
}
