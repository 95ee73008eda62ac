import Glibc

/// The terminal behind an open descriptor, if it is one.
package enum Terminal {
    package static func isBehind(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Whether terminals of this process understand "erase this line"; `TERM` names their kind.
    package static var isErasable: Bool {
        guard let kind = ProcessEnvironment.variables["TERM"] else { return false }
        return kind != "dumb"
    }

    /// The terminal's size now; nil without a terminal, or if it has no size.
    package static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The width that output should have: `COLUMNS` if it is a number above 0, else the terminal's;
    /// nil without either.
    package static func columns(of descriptor: Int32) -> Int? {
        let wanted = ProcessEnvironment.variables["COLUMNS"].flatMap { Int($0) } ?? 0
        return wanted > 0 ? wanted : size(of: descriptor)?.columns
    }
}
