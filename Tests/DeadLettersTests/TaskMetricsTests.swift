import Foundation
import TestSupport
import Testing

/// Daily tasks write when they last succeeded, and 0 if they have found something.
@Suite(.timeLimit(.minutes(10))) struct TaskMetricsTests {
    /// The value of a task's metric in a file.
    ///
    /// `nil` without one.
    private static func success(of task: String, in file: URL) -> Int? {
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").lazy.compactMap { line in
            line.wholeMatch(of: /entitlements_task_success_timestamp_seconds\{task="(\w+)"\} (\d+)/)
        }.first { $0.1 == task }.flatMap { Int($0.2) }
    }

    @Test func `pruning and an intact chain leave their time, and a finding leaves zero`() async throws {
        let rig = try await IndexRig()
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).prom")
        defer { try? FileManager.default.removeItem(at: file) }
        let before = Int(Date().timeIntervalSince1970)
        let intact = await rig.tool("verify", "--metrics", file.path)
        #expect(intact.exitCode == 0, "\(intact.notes)")
        #expect(try #require(Self.success(of: "chains", in: file)) >= before)

        // Letters of no chain.
        try await rig.send(rig.letters(0..<3))
        try await rig.index()
        let found = await rig.tool("verify", "--metrics", file.path)
        #expect(found.exitCode == 1, "\(found.result)")
        #expect(Self.success(of: "chains", in: file) == 0)

        let counted = await rig.tool("index", "--prune", "--metrics", file.path)
        #expect(counted.exitCode == 64)
        let pruned = await rig.tool("index", "--prune", "--yes", "--metrics", file.path)
        #expect(pruned.exitCode == 0, "\(pruned.notes)")
        #expect(try #require(Self.success(of: "prune", in: file)) >= before)
    }
}
