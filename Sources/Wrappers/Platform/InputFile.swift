import Glibc

/// A file or a pipe that is read piece by piece, and closed when its last owner releases it.
package final class InputFile: Sendable {
    private let descriptor: Int32

    /// Opens the file at a path.
    ///
    /// `nil` if the file does not exist, or may not be read.
    package convenience init?(path: String) { self.init(owning: open(path, O_RDONLY | O_CLOEXEC)) }

    /// Takes ownership of a descriptor.
    ///
    /// `nil` for a negative number, which reports a failure.
    private init?(owning descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    /// The process's standard input, which stays open.
    ///
    /// `nil` if the process has none.
    package static var standardInput: InputFile? { InputFile(owning: dup(STDIN_FILENO)) }

    package var isFolder: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Reads the next bytes, between one and `countMax`; returns an empty array at the end.
    ///
    /// Throws the system's error, for example for a directory.
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

    /// Waits until `read` would return at once, which it always does for a regular file (poll(2)).
    ///
    /// - Returns: false if `read` would still block after `wait`.
    package func isReadable(within wait: Duration) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // `read` reports a failure.
        return poll(&request, 1, Int32(clamping: Int64(wait / .milliseconds(1)))) != 0
    }

    /// The rest of the file.
    ///
    /// `nil` if the rest is more than `countMax` bytes.
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

/// A read error, with its number from errno(3).
package struct InputFileError: Error, Hashable, CustomStringConvertible {
    package let code: Int32

    package var description: String { String(cString: strerror(code)) }
}
