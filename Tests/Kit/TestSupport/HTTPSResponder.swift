import Foundation
import Simulation
import Synchronization
import Testing

/// A scripted server of HTTPS on this machine (`Tests/Reference/https_server.py`), under the name
/// `localhost`.
package final class HTTPSResponder: Sendable {
    /// The bytes of one response, and what follows them.
    package struct Response: Encodable, Sendable {
        package enum Then: String, Encodable, Sendable { case keep, close, cut, drip, silence }

        package let bytes: String
        package let then: Then

        package init(_ bytes: String, then: Then = .keep) {
            self.bytes = bytes
            self.then = then
        }

        /// A well-formed response.
        package static func of(status: Int = 200, headers: [String] = [], _ body: String = "") -> Response {
            let lines = ["HTTP/1.1 \(status) Any"] + headers + ["Content-Length: \(body.utf8.count)"]
            return Response(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        }
    }

    package struct Request: Decodable, Sendable {
        /// The number of the connection, from 1 on.
        package let connection: Int
        /// The request line and the headers.
        package let head: String
        package let body: String
    }

    package let port: UInt16
    package let certificates: TestCertificates
    private let process: ChildProcess
    private let folder: URL

    /// - Parameter host: the name in the server's certificate.
    package static func start(_ responses: [Response], host: String = "DNS:localhost") async throws -> HTTPSResponder {
        let folder = FileManager.default.temporaryDirectory.appending(path: "https-\(UUID().uuidString)")
        let certificates = try await TestCertificates(in: folder)
        let issued = try await certificates.issue("server", hosts: host)
        let script = folder.appending(path: "responses.json")
        try JSONEncoder().encode(responses).write(to: script)
        let requests = folder.appending(path: "requests")
        try Data().write(to: requests)
        let output = OutputLines()
        let program = ReferenceScript.root.appending(path: "Tests/Reference/https_server.py").path
        let process = try ChildProcess(
            executable: "/usr/bin/python3",
            arguments: ["-B", program, issued.certificate, issued.key, script.path, requests.path],
            environment: ProcessInfo.processInfo.environment,
            standardOutput: .lines { line in output.lines.withLock { $0.append(line) } }, standardError: .inherited)
        await eventually { output.lines.withLock { !$0.isEmpty } || !process.isRunning }
        let port = output.lines.withLock(\.first).flatMap { UInt16($0) }
        guard let port else { throw CocoaError(.executableLoad) }
        return HTTPSResponder(port, certificates, process, folder)
    }

    private init(_ port: UInt16, _ certificates: TestCertificates, _ process: ChildProcess, _ folder: URL) {
        self.port = port
        self.certificates = certificates
        self.process = process
        self.folder = folder
    }

    package var url: String { "https://localhost:\(port)" }

    /// Answered requests, and perhaps one that is about to be answered.
    package var requests: [Request] {
        get throws {
            try Data(contentsOf: folder.appending(path: "requests")).split(separator: UInt8(ascii: "\n")).map {
                try JSONDecoder().decode(Request.self, from: $0)
            }
        }
    }

    package func stop() {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}

private final class OutputLines: Sendable { let lines = Mutex<[String]>([]) }
