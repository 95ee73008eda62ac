import Simulation
import TestSupport
import Testing

@testable import Benchmarks

struct BesideProgramTests {
    @Test func `a program that has ended is reported with its exit code`() async throws {
        let process = try ChildProcess(executable: "/bin/sh", arguments: ["-c", "exit 3"], environment: [:])
        try await process.waitForEnd(deadline: .hopeless)
        let error = #expect(throws: BenchError.self) { try BesideProgram(path: "other").requireRunning(process) }
        #expect(error?.description == "other has ended (exit code 3)")
    }
}
