import Foundation
import Simulation
import TestSupport

/// A test's own Prometheus: Debian's, scraping once a second, with targets that may change.
struct Prometheus: Sendable {
    static let executable = "/usr/bin/prometheus"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable) }

    /// A series of an answer, with its value.
    struct Series: Decodable, Sendable {
        let metric: [String: String]
        let value: Double?

        private enum Key: CodingKey { case metric, value }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            metric = try container.decode([String: String].self, forKey: .metric)
            var pair = try container.nestedUnkeyedContainer(forKey: .value)
            _ = try pair.decode(Double.self)
            value = Double(try pair.decode(String.self))
        }
    }

    private struct Answer<Content: Decodable>: Decodable { let data: Content }

    private struct Vector: Decodable { let result: [Series] }

    private struct Alerts: Decodable {
        struct Alert: Decodable {
            let labels: [String: String]
            let state: String
        }

        let alerts: [Alert]
    }

    private let folder: String
    private let port: UInt16
    private let server: ChildProcess
    private let files: ChildProcess

    /// Starts it with these rules, and a server of the files of its folder, which stands for the
    /// textfile collector of node_exporter.
    ///
    /// - Parameter rules: by name of the file.
    init(_ rules: [String: String], in folder: String) throws {
        self.folder = folder
        port = try LoopbackPort.free()
        let filePort = try LoopbackPort.free()
        for (name, text) in rules { try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
        let configuration = """
            global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
            rule_files: [\(rules.keys.joined(separator: ", "))]
            scrape_configs:
              - job_name: entitlements
                file_sd_configs:
                  - files: [targets.json]
                    refresh_interval: 1s
              - job_name: node
                metrics_path: /reconcile.prom
                static_configs: [{ targets: ["127.0.0.1:\(filePort)"] }]
              - job_name: letters
                metrics_path: /letters.prom
                static_configs: [{ targets: ["127.0.0.1:\(filePort)"] }]

            """
            + Self.tasks.map { task in
                """
                  - job_name: \(task)
                    metrics_path: /\(task).prom
                    static_configs: [{ targets: ["127.0.0.1:\(filePort)"] }]

                """
            }.joined()
        let path = "\(folder)/prometheus.yaml"
        try configuration.write(toFile: path, atomically: true, encoding: .utf8)
        let environment = ["PATH": "/usr/bin:/bin"]
        files = try ChildProcess(
            executable: "/usr/bin/env",
            arguments: ["python3", "-m", "http.server", "\(filePort)", "--bind", "127.0.0.1", "--directory", folder],
            environment: environment)
        server = try ChildProcess(
            executable: Self.executable,
            arguments: [
                "--config.file=\(path)", "--storage.tsdb.path=\(folder)/tsdb", "--web.listen-address=127.0.0.1:\(port)",
            ], environment: environment, standardOutput: .file(path: "\(folder)/prometheus.txt"),
            standardError: .file(path: "\(folder)/prometheus.txt"))
    }

    /// The daily tasks, as the label `task` names them.
    static let tasks = ["chains", "prune"]

    func taskFile(_ task: String) -> String { "\(folder)/\(task).prom" }

    var metricsFile: String { "\(folder)/reconcile.prom" }
    var lettersFile: String { "\(folder)/letters.prom" }

    /// Scrapes these workers, and no others.
    func scrape(_ copies: [WorkerCopy]) throws {
        let targets = copies.compactMap { $0.log.httpPort }.map { "\"127.0.0.1:\($0)\"" }
        try "[{\"targets\": [\(targets.joined(separator: ","))]}]".write(
            toFile: "\(folder)/targets.json", atomically: true, encoding: .utf8)
    }

    /// The present result of an expression.
    ///
    /// `nil` if Prometheus refuses it or does not answer.
    func query(_ expression: String) -> [Series]? {
        let answer: Answer<Vector>? = get("query", "query", expression)
        return answer?.data.result
    }

    /// The series that a selector finds.
    func series(_ selector: String) -> [[String: String]] {
        let answer: Answer<[[String: String]]>? = get("series", "match[]", selector)
        return answer?.data ?? []
    }

    /// The names of the firing alerts.
    ///
    /// `nil` if Prometheus does not answer.
    func firing() -> Set<String>? {
        let answer: Answer<Alerts>? = get("alerts", "at", "now")
        let firing = answer?.data.alerts.filter { $0.state == "firing" }
        return firing.map { Set($0.compactMap { $0.labels["alertname"] }) }
    }

    func stop() async {
        server.kill()
        files.kill()
        _ = try? await server.waitForEnd(deadline: .hopeless)
        _ = try? await files.waitForEnd(deadline: .hopeless)
    }

    private func get<Content: Decodable>(_ call: String, _ parameter: String, _ value: String) -> Answer<Content>? {
        let query = value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        // HTTP/1.0: the answer ends with the connection, in one piece.
        let request = "GET /api/v1/\(call)?\(parameter)=\(query) HTTP/1.0\r\n\r\n"
        guard let text = try? RawClient.exchange(request, port: port), let head = text.range(of: "\r\n\r\n") else {
            return nil
        }
        return try? JSONDecoder().decode(Answer<Content>.self, from: Data(text[head.upperBound...].utf8))
    }
}
