import Glibc

/// A terminal without a screen: what is written to `descriptor` can be read here.
package struct PseudoTerminal: ~Copyable, Sendable {
    package struct Unavailable: Error {}

    package let descriptor: Int32
    /// The path by which another process opens the terminal.
    package let path: String
    private let screen: Int32

    /// - Parameter columns: 0 for a terminal without a size.
    package init(columns: UInt16 = 0) throws {
        var (screen, descriptor): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: columns == 0 ? 0 : 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&screen, &descriptor, nil, nil, &size) == 0, let name = ttyname(descriptor) else {
            throw Unavailable()
        }
        path = String(cString: name)
        self.screen = screen
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
        close(screen)
    }

    /// Reads up to and including a byte.
    package func read(until last: UInt8) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.last != last, Glibc.read(screen, &byte, 1) == 1 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the bytes that have been written so far, without a wait for more.
    package func readWritten() -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var request = pollfd(fd: screen, events: Int16(POLLIN), revents: 0)
        while poll(&request, 1, 0) == 1, request.revents & Int16(POLLIN) != 0 {
            let count = Glibc.read(screen, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
