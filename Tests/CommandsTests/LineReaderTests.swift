import Synchronization
import Testing

@testable import Commands

@Suite struct LineReaderTests {
    private func read(_ text: String, chunk: Int, lineBytesMax: Int = 100) throws -> [String] {
        let rest = Mutex(Array(text.utf8)[...])
        var reader = LineReader(lineBytesMax: lineBytesMax) {
            rest.withLock { rest in
                defer { rest = rest.dropFirst(chunk) }
                return Array(rest.prefix(chunk))
            }
        }
        var lines: [String] = []
        while let line = try reader.next() {
            lines.append(String(decoding: line, as: UTF8.self))
            #expect(reader.lineNumber == lines.count)
        }
        return lines
    }

    @Test(arguments: [1, 2, 3, 7, 100]) func `lines are the same however the bytes arrive`(chunk: Int) throws {
        #expect(try read("a\nbc\n\nlast", chunk: chunk) == ["a", "bc", "", "last"])
        #expect(try read("a\n", chunk: chunk) == ["a"])
        #expect(try read("", chunk: chunk).isEmpty)
        #expect(try read("\n", chunk: chunk) == [""])
    }

    @Test func `a carriage return stays in the line`() throws {
        #expect(try read("a\r\nb\r\n", chunk: 2) == ["a\r", "b\r"])
    }

    @Test func `a line without an end is refused by its number`() {
        #expect(throws: LineReader.LineTooLong(lineNumber: 2)) {
            try read("a\n" + String(repeating: "b", count: 200), chunk: 16)
        }
    }
}
