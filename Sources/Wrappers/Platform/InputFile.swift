import Glibc

/// A file or a pipe that is read piece by piece, and closed with its last owner.
package final class InputFile: Sendable {
    private let descriptor: Int32

    /// Opens the file at a path.
    ///
    /// `nil` if there is no such file, or it may not be read.
    package convenience init?(path: String) { self.init(owning: open(path, O_RDONLY | O_CLOEXEC)) }

    /// Takes ownership of a descriptor.
    ///
    /// `nil` for a negative number, which reports a failure.
    private init?(owning descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    /// The process's own, which stays open; nil if it has none.
    package static var standardInput: InputFile? { InputFile(owning: dup(STDIN_FILENO)) }

    package var isFolder: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Reads the next bytes, between one and `countMax`; returns an empty array at the end.
    ///
    /// Throws the system's error, as for a directory.
    package func read(upTo countMax: Int) throws(InputFileError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: countMax) { buffer, count in
            var result = 0
            repeat { result = Glibc.read(descriptor, buffer.baseAddress, countMax) } while result < 0 && errno == EINTR
            code = result < 0 ? errno : 0
            count = max(0, result)
        }
        guard code == 0 else { throw InputFileError(code: code) }
        return bytes
    }

    /// Waits until `read` would return at once, as it always does for a file (poll(2)).
    ///
    /// - Returns: false if it would still block.
    package func isReadable(within wait: Duration) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // A failure is for `read` to report.
        return poll(&request, 1, Int32(clamping: Int64(wait / .milliseconds(1)))) != 0
    }

    /// All that is left; nil if that is more than `countMax`.
    package func readWhole(atMost countMax: Int) throws(InputFileError) -> [UInt8]? {
        var whole: [UInt8] = []
        while true {
            let piece = try read(upTo: min(Self.pieceBytes, countMax + 1 - whole.count))
            if piece.isEmpty { return whole }
            whole += piece
            guard whole.count <= countMax else { return nil }
        }
    }

    private static let pieceBytes = 65_536

    deinit { close(descriptor) }
}

/// An error of reading, by the number that errno(3) lists.
package struct InputFileError: Error, Hashable, CustomStringConvertible {
    package let code: Int32

    package var description: String { String(cString: strerror(code)) }
}
