import Foundation
import Records
import Simulation
import TestSupport
import Topology

/// A copy of a worker, in a process of its own with a log of its own.
struct WorkerCopy: Sendable {
    let stage: StageDescription
    let name: String
    let logPath: String
    let process: ChildProcess

    /// - Parameters:
    ///   - name: unique among all copies that a test ever starts.
    ///   - programs: the folder of the executables.
    init(
        _ stage: StageDescription, name: String, programs: String, settings: String, folder: String,
        environment: [String: String]
    ) throws {
        self.stage = stage
        self.name = name
        logPath = "\(folder)/\(name).log"
        process = try ChildProcess(
            executable: "\(programs)/\(stage == .deadLetterIndex ? "dead-letter" : stage.program)",
            arguments: (stage == .deadLetterIndex ? ["index"] : []) + ["--config", settings], environment: environment,
            standardOutput: .file(path: logPath), standardError: .file(path: logPath))
    }

    var log: WorkerLog { WorkerLog(path: logPath) }

    /// The worker's answer.
    ///
    /// `nil` before it listens.
    func get(_ path: String) -> (isOK: Bool, text: String)? {
        guard let port = log.httpPort else { return nil }
        let request = "GET \(path) HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n\r\n"
        guard let answer = try? RawClient.exchange(request, port: port), !answer.isEmpty else { return nil }
        return (answer.hasPrefix("HTTP/1.1 200 "), answer)
    }

    /// The first sample of a metric whose line holds all of these words.
    ///
    /// `nil` without one.
    func metric(_ words: String...) -> Double? {
        guard let text = get("/metrics")?.text else { return nil }
        let line = text.split(whereSeparator: \.isNewline).first { line in
            !line.hasPrefix("#") && words.allSatisfy { line.contains($0) }
        }
        return line?.split(separator: " ").last.flatMap { Double($0) }
    }

    /// The sum of all series whose line contains the words; 0 without one.
    func sum(_ words: String...) -> Double {
        let lines = get("/metrics")?.text.split(whereSeparator: \.isNewline) ?? []
        return lines.filter { line in !line.hasPrefix("#") && words.allSatisfy { line.contains($0) } }.compactMap {
            $0.split(separator: " ").last.flatMap { Double($0) }
        }.reduce(0, +)
    }

    var isReady: Bool { self.get("/readyz")?.isOK ?? false }

    /// Whether the worker answers that it is not ready.
    var isUnready: Bool { self.get("/readyz").map { !$0.isOK } ?? false }
}
