import Glibc

/// The terminal behind an open descriptor, if the descriptor is a terminal.
package enum Terminal {
    package static func isBehind(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Whether this process's terminal understands "erase this line"; `TERM` names its kind.
    package static var isErasable: Bool {
        guard let kind = ProcessEnvironment.variables["TERM"] else { return false }
        return kind != "dumb"
    }

    /// The terminal's current size.
    ///
    /// `nil` without a terminal, or if the terminal has no size.
    package static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The width for output: `COLUMNS` if that is a number above 0, else the terminal's width.
    ///
    /// `nil` without either.
    package static func columns(of descriptor: Int32) -> Int? {
        let wanted = ProcessEnvironment.variables["COLUMNS"].flatMap { Int($0) } ?? 0
        return wanted > 0 ? wanted : size(of: descriptor)?.columns
    }
}
