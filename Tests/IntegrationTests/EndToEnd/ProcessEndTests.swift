import Foundation
import Simulation
import TestSupport
import Testing

/// Threads without an owner may be in a library when a program ends.
@Suite struct ProcessEndTests {
    private static let programs = [
        "verify-worker", "dedupe-worker", "link-worker", "entitle-worker", "pipeline", "dead-letter", "demo", "bench",
    ]

    @Test func `no program takes libraries down before it ends`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "process-end-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (source, library) = (folder.appending(path: "end.c").path, folder.appending(path: "end.so").path)
        let text = """
            #include <stdlib.h>
            __attribute__((destructor)) static void end(void) { abort(); }
            """
        try Data(text.utf8).write(to: URL(filePath: source))
        let compiler = try ChildProcess(
            executable: "/usr/bin/env", arguments: ["clang", "-shared", "-fPIC", "-o", library, source],
            environment: ProcessInfo.processInfo.environment, standardOutput: .inherited, standardError: .inherited)
        #expect(try await compiler.waitForEnd(deadline: .hopeless) == .exited(code: 0))
        for program in Self.programs {
            let help = try await BuiltTool.run(program, ["--help"], ["LD_PRELOAD": library])
            #expect(help.exitCode == 0, "\(program)")
            // The output is complete.
            #expect(help.output.contains("--help"), "\(program)")
        }
    }
}
