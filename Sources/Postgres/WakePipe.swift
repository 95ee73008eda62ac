import Foundation

/// Ends a `poll` from another thread: the cancellation of a task that waits for the server.
///
/// A pipe and not a flag, because the waiting thread sits in the kernel. Both ends are closed with
/// the object; a full pipe is as good as a byte in it.
final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// Fails when the process has no file descriptor left.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        readEnd = ends[0]
        writeEnd = ends[1]
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func wake() {
        var byte: UInt8 = 1
        _ = unsafe write(writeEnd, &byte, 1)
    }

    /// Takes out what an earlier cancellation left.
    func clear() {
        var bytes: [UInt8] = Array(repeating: 0, count: 64)
        while unsafe read(readEnd, &bytes, bytes.count) > 0 {}
    }
}
