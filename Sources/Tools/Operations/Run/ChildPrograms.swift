import Foundation
package import Settings
import Synchronization

/// Programs started by this process, each with a separate log; they do not outlive it.
package final class ChildPrograms: Sendable {
    private struct Child {
        let name: String
        let process: Process
    }

    private static let stopGrace = Duration.seconds(40)
    private static let pause = Duration.milliseconds(100)

    private let executables: String
    private let logs: String
    private let children = Mutex<[Child]>([])
    private let watchdog = Mutex<(shell: Process, input: Pipe)?>(nil)

    /// - Parameters:
    ///   - executables: the folder of the programs.
    ///   - logs: the folder of the logs; created if it does not exist.
    init(in executables: String, logs: String) throws(CommandError) {
        self.executables = executables
        self.logs = logs
        do { try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true) } catch {
            throw CommandError(ExitCode.noInput, "cannot make a folder at \(logs)")
        }
    }

    /// Throws if a program has not been built.
    package static func require(_ names: [String], in executables: String) throws(CommandError) {
        let missing = names.filter { name in !FileManager.default.isExecutableFile(atPath: "\(executables)/\(name)") }
        guard missing.isEmpty else {
            throw CommandError(
                ExitCode.noInput,
                "\(missing.joined(separator: ", ")) not found in \(executables): build all of the "
                    + "package with 'swift build'")
        }
    }

    func start(_ name: String, _ arguments: [String], environment: [String: String]) throws {
        let path = self.path(of: name)
        guard FileManager.default.createFile(atPath: path, contents: nil), let log = FileHandle(forWritingAtPath: path)
        else { throw CommandError(ExitCode.noInput, "cannot write \(path)") }
        let process = Process()
        // A child inherits ignored signals, and this process ignores the signals that it waits for.
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--default-signal=HUP,INT,TERM", "\(executables)/\(name)"] + arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = log
        process.standardError = log
        try process.run()
        children.withLock { $0.append(Child(name: name, process: process)) }
    }

    /// Starts a shell that ends the programs when its input ends.
    ///
    /// The input ends with this process, even if a signal that it cannot catch kills it.
    func guardAll() throws {
        let (shell, input) = (Process(), Pipe())
        shell.executableURL = URL(filePath: "/bin/sh")
        let numbers = children.withLock { $0.map { String($0.process.processIdentifier) } }
        shell.arguments = ["-c", Self.script, "guard"] + numbers
        shell.standardInput = input
        shell.standardError = FileHandle.nullDevice
        try shell.run()
        watchdog.withLock { $0 = (shell, input) }
    }

    private static let script = """
        trap '' HUP INT TERM
        read -r line
        kill -s TERM "$@"
        for child; do
            tries=0
            while kill -0 "$child" && [ $tries -lt 400 ]; do
                tries=$((tries + 1)); sleep 0.1
            done
            kill -s KILL "$child"
        done
        """

    /// Throws an error with the last lines of its log if a program has ended.
    func requireRunning() throws(CommandError) {
        let ended = children.withLock { $0.first { !$0.process.isRunning } }
        guard let ended else { return }
        let words = (FileManager.default.contents(atPath: path(of: ended.name)) ?? Data()).suffix(16_384)
        let lines = String(decoding: words, as: UTF8.self).split(separator: "\n").suffix(5)
        throw CommandError(
            ExitCode.software,
            "\(ended.name) has ended with \(ended.process.terminationStatus):\n"
                + lines.map { "  \($0)" }.joined(separator: "\n"))
    }

    /// Asks all programs to finish, waits for them, and kills those that do not.
    func stop() async {
        let processes = children.withLock { $0.map(\.process) }
        processes.filter(\.isRunning).forEach { $0.terminate() }
        let end = ContinuousClock.now + Self.stopGrace
        while processes.contains(where: \.isRunning), ContinuousClock.now < end {
            try? await Task.sleep(for: Self.pause)
        }
        for process in processes where process.isRunning { kill(process.processIdentifier, SIGKILL) }
        let guarding = watchdog.withLock { $0 }
        if let guarding { kill(guarding.shell.processIdentifier, SIGKILL) }
    }

    private func path(of name: String) -> String { "\(logs)/\(name).log" }
}
