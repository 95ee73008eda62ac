import Foundation
import JSON
import Kafka
import KitWrappers
import Operations
import TestSupport
import Testing

/// `pipeline status --watch` as a process of its own, on a terminal and without one.
@Suite(.needsBuiltWorkers, .timeLimit(.minutes(10))) struct TerminalWatchTests {
    private static let program = "\(BuiltWorkers.folder)/pipeline"
    private static let home = "\u{1B}[H"

    private static func withCluster(_ body: (String) async throws -> Void) async throws {
        let cluster = try MockCluster()
        defer { cluster.stop() }
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 1) }
        try await body(cluster.bootstrapServers)
    }

    private static func arguments(_ bootstrap: String) -> [String] {
        ["status", "--watch", "--interval", "200ms", "--kafka", bootstrap]
    }

    /// The text of a frame, without the sequences that move the cursor and erase.
    private static func lines(_ frame: Substring) -> [String] {
        frame.replacing("\u{1B}[K", with: "").replacing("\u{1B}[J", with: "").split(separator: "\r\n").map(String.init)
    }

    @Test(arguments: ["ctrl-c", "term"])
    func `on a terminal it redraws in place, follows the width, and leaves the cursor visible`(end: String) async throws
    {
        try await Self.withCluster { bootstrap in
            let script = ReferenceScript("terminal.py")
            let result = try script.run(["90", "40", end, Self.program] + Self.arguments(bootstrap))
            let text = result.text
            try #require(result.isSuccess, "\(text)")
            let answer = try JSONDocument(parsing: Array(result.output)).root
            #expect(answer["status"]?.int64 == 0, "\(text)")
            let wide = answer["wide"]?.string ?? ""
            let narrow = answer["narrow"]?.string ?? ""
            // Each frame begins at the top, and the last one may be half a frame.
            let frames = wide.components(separatedBy: Self.home).dropFirst().dropLast()
            let widths = frames.flatMap { Self.lines($0[...]) }.map(\.count)
            #expect((41..<90).contains(widths.max() ?? 0), "\(wide)")
            // The first may have begun before.
            let narrowFrames = narrow.components(separatedBy: Self.home).dropFirst(2).dropLast()
            let narrowWidths = narrowFrames.flatMap { Self.lines($0[...]) }.map(\.count)
            #expect(narrowWidths.max() == 39, "\(narrow)")
            let all = wide + narrow + (answer["rest"]?.string ?? "")
            #expect(all.contains(/verify +- +0/))
            // Neither a scroll nor a hidden cursor: nothing has to be put back at the end.
            for control in all.matches(of: /\u{1B}\[[0-9;?]*[A-Za-z]/).map(\.output) {
                #expect(["\u{1B}[H", "\u{1B}[K", "\u{1B}[J"].contains(control), "\(control)")
            }
        }
    }

    @Test func `without a terminal it writes plain lines`() async throws {
        try await Self.withCluster { bootstrap in
            let outcome = try await BuiltTool.run("pipeline", Self.arguments(bootstrap) + ["--count", "2"], [:])
            #expect(outcome.exitCode == 0, "\(outcome.output)")
            #expect(!outcome.output.contains("\u{1B}"))
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.count { $0.contains(/^[0-9TZ:-]+ verify: 0 settled/) } == 2)
        }
    }
}
