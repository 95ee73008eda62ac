import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Simulation

@Suite(.hopeless) struct ChildProcessTests {
    private func shell(_ script: String, environment: [String: String] = [:], output: ChildProcess.Output = .discarded)
        throws -> ChildProcess
    {
        try ChildProcess(
            executable: "/bin/sh", arguments: ["-c", script], environment: environment, standardOutput: output)
    }

    @Test func `the exit code is reported`() async throws {
        let child = try shell("exit 7")
        #expect(try await child.waitForEnd(deadline: .hopeless) == .exited(code: 7))
        #expect(!child.isRunning)
    }

    @Test func `a kill is reported as its signal`() async throws {
        let child = try shell("sleep 100")
        child.kill()
        #expect(try await child.waitForEnd(deadline: .hopeless) == .signalled(SIGKILL))
        child.terminate()
    }

    @Test func `a program that runs on past the deadline is left running`() async throws {
        let child = try shell("sleep 100")
        await #expect(throws: LocalServerError.self) { try await child.waitForEnd(deadline: .milliseconds(50)) }
        #expect(child.isRunning)
        #expect(try await child.stop(grace: .hopeless) == .signalled(SIGTERM))
    }

    @Test func `a program that ignores SIGTERM is killed after the grace`() async throws {
        let ready = Mutex(false)
        let child = try shell(
            "trap '' TERM; echo ready; while :; do sleep 0.1; done", environment: ["PATH": "/usr/bin:/bin"],
            output: .lines { _ in ready.withLock { $0 = true } })
        await eventually { ready.withLock(\.self) }
        #expect(try await child.stop(grace: .milliseconds(100)) == .signalled(SIGKILL))
    }

    @Test func `only the given environment is handed on, and lines come whole`() async throws {
        let lines = Mutex<[String]>([])
        let child = try shell(
            "echo \"$GIVEN\"; echo \"${HOME-none}\"; printf last", environment: ["GIVEN": "a b"],
            output: .lines { line in lines.withLock { $0.append(line) } })
        try await child.waitForEnd(deadline: .hopeless)
        await eventually { lines.withLock { $0.count == 3 } }
        #expect(lines.withLock(\.self) == ["a b", "none", "last"])
    }

    @Test func `output goes to a file`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let child = try shell("echo one; echo two", output: .file(path: path))
        try await child.waitForEnd(deadline: .hopeless)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one\ntwo\n")
    }

    @Test func `a child gets none of our descriptors`() async throws {
        let descriptor = open("/dev/null", O_RDONLY)
        defer { close(descriptor) }
        let child = try shell("[ -e /proc/self/fd/\(descriptor) ] && exit 1 || exit 0")
        #expect(try await child.waitForEnd(deadline: .hopeless) == .exited(code: 0))
    }

    @Test func `a program that is not there is an error that names it`() {
        let error = #expect(throws: LocalServerError.self) {
            try ChildProcess(executable: "/nowhere/worker", environment: [:])
        }
        #expect(error?.message.contains("/nowhere/worker") == true)
    }

    @Test func `children and folders are removed with the process that guards them`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder + "/inner", withIntermediateDirectories: true)
        let child = try shell("sleep 100")
        let released = try shell("sleep 100")
        var watchdog: ProcessWatchdog? = ProcessWatchdog()
        try watchdog?.guardFolder(folder)
        try watchdog?.guardProcess(released.processID, signal: "KILL")
        try watchdog?.guardProcess(child.processID, signal: "TERM")
        watchdog?.releaseProcess(released.processID)
        // The end of the pipe is all that the watchdog sees of a process that dies.
        watchdog = nil
        #expect(try await child.waitForEnd(deadline: .hopeless) == .signalled(SIGTERM))
        await eventually { !FileManager.default.fileExists(atPath: folder) }
        #expect(released.isRunning)
        try await released.stop(grace: .hopeless)
    }
}
