import Glibc
import Platform
import TestSupport
import Testing

@Suite struct TerminalTests {
    @Test func `a terminal has a size, and a pipe is no terminal`() throws {
        let terminal = try PseudoTerminal(columns: 72)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }

        #expect(Terminal.isBehind(terminal.descriptor))
        let size = Terminal.size(of: terminal.descriptor)
        #expect(size?.columns == 72)
        #expect(size?.rows == 24)
        #expect(!Terminal.isBehind(ends[1]))
        #expect(Terminal.size(of: ends[1]) == nil)
    }

    @Test func `a terminal without a size has none`() throws {
        let terminal = try PseudoTerminal()
        #expect(Terminal.isBehind(terminal.descriptor))
        #expect(Terminal.size(of: terminal.descriptor) == nil)
    }
}
