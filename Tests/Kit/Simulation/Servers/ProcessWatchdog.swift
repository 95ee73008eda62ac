import Foundation
import Synchronization

/// Ends this process's children and deletes its folders when this process dies, however it dies.
///
/// A shell in a process group of its own reads from a pipe whose other end only this process holds:
/// the pipe closes when the process ends. It needs no signal handlers, and a terminal's Ctrl-C does
/// not reach it. (Linux's PR_SET_PDEATHSIG fires when the *thread* that started the child ends.)
package final class ProcessWatchdog: Sendable {
    private let pipeEnd = Mutex<Int32?>(nil)

    package static let shared = ProcessWatchdog()

    deinit { if let end = pipeEnd.withLock(\.self) { close(end) } }

    /// Registers the child: `signal` is sent to it when this process ends, and then SIGKILL.
    func guardProcess(_ processID: Int32, signal: String) throws { try send("guard \(processID):\(signal)") }

    /// Call this when the child has been reaped: another process may get its number.
    func releaseProcess(_ processID: Int32) { try? send("release \(processID)") }

    /// Registers the folder: it is deleted when this process ends, after the children.
    package func guardFolder(_ path: String) throws {
        precondition(!path.contains("\n"), "the watchdog is told one path a line")
        try send("folder \(path)")
    }

    private func send(_ line: String) throws {
        try pipeEnd.withLock { end in
            let descriptor = try end ?? start()
            end = descriptor
            let bytes = Array((line + "\n").utf8)
            guard write(descriptor, bytes, bytes.count) == bytes.count else {
                throw LocalServerError("the watchdog shell is gone", errno: errno)
            }
        }
    }

    private func start() throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw LocalServerError("no pipe for the watchdog", errno: errno) }
        defer { close(ends[0]) }
        let spawn = SpawnRequest(
            executable: "/bin/sh", arguments: ["-c", Self.script], environment: [:], standardInput: ends[0],
            standardOutput: nil, standardError: nil)
        _ = try spawn.start()
        return ends[1]
    }

    private static let script = """
        trap '' HUP INT TERM
        children= folders=
        while read -r verb argument; do
            case $verb in
            guard) children="$children $argument" ;;
            folder) folders="$folders$argument
        " ;;
            release)
                left=
                for child in $children; do
                    [ "${child%%:*}" = "$argument" ] || left="$left $child"
                done
                children=$left ;;
            esac
        done
        for child in $children; do kill -s "${child##*:}" "${child%%:*}"; done
        for child in $children; do
            tries=0
            while kill -0 "${child%%:*}" && [ $tries -lt 50 ]; do
                tries=$((tries + 1)); sleep 0.1
            done
            kill -s KILL "${child%%:*}"
        done
        printf '%s' "$folders" | while read -r folder; do rm -rf -- "$folder"; done
        """
}
