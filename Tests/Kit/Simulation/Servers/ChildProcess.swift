import Foundation
import Synchronization

/// A program started by this process, which does not outlive it.
///
/// Signals are sent only until the program is reaped, so that they never reach another process with
/// the same number.
package final class ChildProcess: Sendable {
    /// The destination of the program's output.
    package enum Output: Sendable {
        case discarded
        case inherited
        case file(path: String)
        /// Calls a closure with each line, on a thread of its own.
        case lines(@Sendable (String) -> Void)
    }

    private struct State {
        var end: ProcessEnd?
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    package let processID: Int32
    private let name: String
    private let state = Mutex(State())

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - environment: all of it; `ProcessInfo.processInfo.environment` passes ours on.
    ///   - signalOnOurDeath: the signal sent when this process ends, by its short name (`KILL`).
    package init(
        executable: String, arguments: [String] = [], environment: [String: String],
        standardOutput: Output = .discarded, standardError: Output = .discarded, signalOnOurDeath: String = "KILL"
    ) throws {
        let output = try OutputDescriptor(standardOutput, inherited: STDOUT_FILENO)
        let errors = try OutputDescriptor(standardError, inherited: STDERR_FILENO)
        let spawn = SpawnRequest(
            executable: executable, arguments: arguments, environment: environment, standardInput: nil,
            standardOutput: output.childEnd, standardError: errors.childEnd)
        processID = try spawn.start()
        name = (executable as NSString).lastPathComponent
        output.startReading()
        errors.startReading()
        startReaping()
        try ProcessWatchdog.shared.guardProcess(processID, signal: signalOnOurDeath)
    }

    /// The end of the program.
    ///
    /// `nil` while it runs.
    package var end: ProcessEnd? { state.withLock(\.end) }

    package var isRunning: Bool { end == nil }

    /// Sends the signal; does nothing once the program has ended.
    package func signal(_ number: Int32) {
        state.withLock { state in if state.end == nil { _ = Foundation.kill(processID, number) } }
    }

    package func terminate() { signal(SIGTERM) }

    package func kill() { signal(SIGKILL) }

    /// Waits until the program has ended.
    ///
    /// - Throws: when it is still running at the deadline; it is left running.
    @discardableResult package func waitForEnd(deadline: Duration) async throws -> ProcessEnd {
        let (id, timer) = (newWaiterID(), Task { try? await Task.sleep(for: deadline) })
        let expiry = Task {
            await timer.value
            resume(id)
        }
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                if state.end == nil { state.waiters[id] = continuation }
                return state.end != nil
            }
            if isEnded { continuation.resume() }
        }
        timer.cancel()
        _ = expiry
        guard let end else { throw LocalServerError("\(name) (process \(processID)) still runs after \(deadline)") }
        return end
    }

    /// Asks the program to end, and kills it after `grace`.
    @discardableResult package func stop(grace: Duration, signal number: Int32 = SIGTERM) async throws -> ProcessEnd {
        signal(number)
        do { return try await waitForEnd(deadline: grace) } catch {
            kill()
            return try await waitForEnd(deadline: Self.killDeadline)
        }
    }

    private static let killDeadline = Duration.seconds(10)

    private func newWaiterID() -> UInt64 {
        state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
    }

    private func resume(_ id: UInt64) { state.withLock { $0.waiters.removeValue(forKey: id) }?.resume() }

    /// Blocks a thread until the program ends, and records the end before its number is reused.
    private func startReaping() {
        Thread.detachNewThread { [self] in
            var information = siginfo_t()
            while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            let waiters = state.withLock { state in
                var status: Int32 = 0
                while waitpid(processID, &status, 0) < 0, errno == EINTR {}
                state.end = ProcessEnd(waitStatus: status)
                defer { state.waiters = [:] }
                return Array(state.waiters.values)
            }
            ProcessWatchdog.shared.releaseProcess(processID)
            waiters.forEach { $0.resume() }
        }
    }
}

/// The end of a process.
package enum ProcessEnd: Hashable, Sendable, CustomStringConvertible {
    case exited(code: Int32)
    case signalled(Int32)

    /// Reads the status that `waitpid` reports (`sys/wait.h`; its macros do not import).
    init(waitStatus: Int32) {
        let signal = waitStatus & 0x7f
        self = signal == 0 ? .exited(code: (waitStatus >> 8) & 0xff) : .signalled(signal)
    }

    package var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .signalled(let number): "signal \(number)"
        }
    }
}

/// The descriptor that a child writes its output to, and the thread that reads it if any.
final class OutputDescriptor {
    /// The end passed to the child.
    ///
    /// `nil` means `/dev/null`.
    let childEnd: Int32?
    private let isOwned: Bool
    private let reader: (descriptor: Int32, line: @Sendable (String) -> Void)?

    init(_ output: ChildProcess.Output, inherited: Int32) throws {
        switch output {
        case .discarded: (childEnd, isOwned, reader) = (nil, false, nil)
        case .inherited: (childEnd, isOwned, reader) = (inherited, false, nil)
        case .file(let path):
            let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw LocalServerError("cannot write to \(path)", errno: errno) }
            (childEnd, isOwned, reader) = (descriptor, true, nil)
        case .lines(let line):
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw LocalServerError("no pipe for a child's output", errno: errno) }
            (childEnd, isOwned, reader) = (ends[1], true, (ends[0], line))
        }
    }

    deinit { if isOwned, let childEnd { close(childEnd) } }

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
            if !pending.isEmpty { line(String(decoding: pending, as: UTF8.self)) }
            close(descriptor)
        }
    }
}
