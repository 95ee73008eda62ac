import Foundation

/// The descriptor that a child writes its output to, and the thread that reads it where we do.
final class OutputDescriptor {
    /// The end handed to the child; nil means `/dev/null`.
    let childEnd: Int32?
    private let isOwned: Bool
    private let reader: (descriptor: Int32, line: @Sendable (String) -> Void)?

    init(_ output: ChildProcess.Output, inherited: Int32) throws {
        switch output {
        case .discarded:
            (childEnd, isOwned, reader) = (nil, false, nil)
        case .inherited:
            (childEnd, isOwned, reader) = (inherited, false, nil)
        case .file(let path):
            let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw LocalServerError("cannot write to \(path)", errno: errno)
            }
            (childEnd, isOwned, reader) = (descriptor, true, nil)
        case .lines(let line):
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else {
                throw LocalServerError("no pipe for a child's output", errno: errno)
            }
            (childEnd, isOwned, reader) = (ends[1], true, (ends[0], line))
        }
    }

    deinit {
        if isOwned, let childEnd {
            close(childEnd)
        }
    }

    /// Reads until the child and all that it started have closed their end.
    func startReading() {
        guard let (descriptor, line) = reader else { return }
        Thread.detachNewThread {
            var pending: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                pending.append(contentsOf: buffer[..<count])
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    line(String(decoding: pending[..<end], as: UTF8.self))
                    pending.removeSubrange(...end)
                }
            }
            if !pending.isEmpty {
                line(String(decoding: pending, as: UTF8.self))
            }
            close(descriptor)
        }
    }
}
