import Glibc
import Platform
import Testing

@Suite struct TerminalTests {
    @Test func `a terminal has a size, and a pipe is no terminal`() throws {
        var (master, terminal): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: 24, ws_col: 72, ws_xpixel: 0, ws_ypixel: 0)
        try #require(openpty(&master, &terminal, nil, nil, &size) == 0)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { ([master, terminal] + ends).forEach { close($0) } }

        #expect(Terminal.isBehind(terminal))
        #expect(Terminal.size(of: terminal)?.columns == 72)
        #expect(Terminal.size(of: terminal)?.rows == 24)
        #expect(!Terminal.isBehind(ends[1]))
        #expect(Terminal.size(of: ends[1]) == nil)
    }

    @Test func `a terminal without a size has none`() throws {
        var (master, terminal): (Int32, Int32) = (-1, -1)
        try #require(openpty(&master, &terminal, nil, nil, nil) == 0)
        defer { [master, terminal].forEach { close($0) } }

        #expect(Terminal.isBehind(terminal))
        #expect(Terminal.size(of: terminal) == nil)
    }
}
