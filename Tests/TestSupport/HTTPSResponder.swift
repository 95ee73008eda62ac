import Foundation
import Simulation
import Synchronization
import Testing

/// A scripted server of HTTPS on this machine (`Tests/Reference/https_server.py`), under the name
/// `localhost`.
package final class HTTPSResponder: Sendable {
    /// The bytes of one response, and what follows them.
    package struct Response: Encodable, Sendable {
        package enum Then: String, Encodable, Sendable {
            case keep, close, cut, drip, silence
        }

        package let bytes: String
        package let then: Then

        package init(_ bytes: String, then: Then = .keep) {
            self.bytes = bytes
            self.then = then
        }

        /// A well-formed response.
        package static func of(
            status: Int = 200,
            headers: [String] = [],
            _ body: String = ""
        ) -> Response {
            let lines =
                ["HTTP/1.1 \(status) Any"] + headers + ["Content-Length: \(body.utf8.count)"]
            return Response(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        }
    }

    package struct Request: Decodable, Sendable {
        /// Counted from 1.
        package let connection: Int
        /// The request line and the headers.
        package let head: String
        package let body: String
    }

    package let port: UInt16
    package let certificates: TestCertificates
    private let process: ChildProcess
    private let folder: URL
    private let received: ReceivedLines

    /// - Parameter host: the name in the server's certificate.
    package static func start(
        _ responses: [Response],
        host: String = "DNS:localhost"
    ) async throws -> HTTPSResponder {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "https-\(UUID().uuidString)")
        let certificates = try await TestCertificates(in: folder)
        let issued = try await certificates.issue("server", hosts: host)
        let script = folder.appending(path: "responses.json")
        try JSONEncoder().encode(responses).write(to: script)
        let received = ReceivedLines()
        let program = ReferenceScript.root.appending(path: "Tests/Reference/https_server.py").path
        let process = try ChildProcess(
            executable: "/usr/bin/python3",
            arguments: ["-B", program, issued.certificate, issued.key, script.path],
            environment: ProcessInfo.processInfo.environment,
            standardOutput: .lines { line in received.lines.withLock { $0.append(line) } },
            standardError: .inherited
        )
        await eventually { received.lines.withLock { !$0.isEmpty } || !process.isRunning }
        let port = received.lines.withLock(\.first).flatMap { UInt16($0) }
        guard let port else { throw CocoaError(.executableLoad) }
        return HTTPSResponder(port, certificates, process, folder, received)
    }

    private init(
        _ port: UInt16,
        _ certificates: TestCertificates,
        _ process: ChildProcess,
        _ folder: URL,
        _ received: ReceivedLines
    ) {
        self.port = port
        self.certificates = certificates
        self.process = process
        self.folder = folder
        self.received = received
    }

    package var url: String { "https://localhost:\(port)" }

    package var requests: [Request] {
        get throws {
            try received.lines.withLock { lines in
                try lines.dropFirst().map {
                    try JSONDecoder().decode(Request.self, from: Data($0.utf8))
                }
            }
        }
    }

    package func stop() {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}

private final class ReceivedLines: Sendable {
    let lines = Mutex<[String]>([])
}
