import Foundation
import Testing
import Simulation

extension RunningPipeline {
    /// Runs `body` with a pipeline and ends it afterwards in any case.
    ///
    /// The logs may hold no secret in the end, whatever the test was about.
    static func run(_ setup: PipelineSetup, _ traffic: DemoTraffic, _ body: (RunningPipeline) async throws -> Void)
        async throws
    {
        let pipeline = try await RunningPipeline(setup, traffic)
        do {
            try await body(pipeline)
            await pipeline.close()
        } catch {
            for copy in pipeline.copies {
                let words = copy.log.lines.suffix(4).joined(separator: "\n")
                Issue.record("the last words of \(copy.name):\n\(words)")
            }
            await pipeline.close()
            pipeline.removeFolder()
            throw error
        }
        for finding in try pipeline.secretsInLogs() { Issue.record("\(finding)") }
        pipeline.removeFolder()
    }

    /// Removes settings and logs unless `KEEP_TEST_LOGS=1` keeps them for a reader.
    func removeFolder() {
        if ProcessInfo.processInfo.environment["KEEP_TEST_LOGS"] != nil {
            print("logs kept in \(folder)")
        } else {
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    /// The log of each copy that was ever started, by the name of its file.
    func logs() throws -> [String: WorkerLog] {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let logs = files.filter { $0.hasSuffix(".log") }.map { file in (file, WorkerLog(path: "\(folder)/\(file)")) }
        return Dictionary(uniqueKeysWithValues: logs)
    }

    /// Findings of secrets in the logs, a line for each, without the secret itself.
    func secretsInLogs() throws -> [String] {
        try logs().sorted { $0.key < $1.key }.flatMap { file, log in
            let stray = log.strayLines.dropLast(log.lines.last == log.strayLines.last ? 1 : 0)
            return secrets.findings(in: log.lines.joined(separator: "\n")).map { "\(file) \($0)" }
                + stray.map { "\(file) holds a line that is no event: \($0)" }
        }
    }

    var secrets: Secrets { Secrets(traffic, database) }
}
