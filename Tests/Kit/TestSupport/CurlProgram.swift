import Foundation
import Simulation

/// Requests sent by `curl`, a client of HTTPS that is not ours.
package enum CurlProgram {
    /// The answer, as far as it came.
    package struct Answer: Sendable {
        /// The exit code: 0 for a whole answer, else a reason of `curl`'s.
        package let exitCode: Int32
        /// The status, or 0 without an answer.
        package let status: Int
        /// Header fields by name in lower case.
        package let headers: [String: String]
        package let body: [UInt8]
    }

    /// Sends one request, a POST if there is a body.
    ///
    /// - Parameters:
    ///   - authority: the certificates to trust, in PEM.
    ///   - options: further ones of `curl`.
    package static func send(
        _ url: String, trusting authority: String, headers: [String: String] = [:], body: [UInt8]? = nil,
        options: [String] = []
    ) async throws -> Answer {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: UUID().uuidString)
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? files.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appending(path: name).path }
        try Data(authority.utf8).write(to: folder.appending(path: "authority"))
        var arguments = [
            "--silent", "--max-time", "600", "--cacert", path("authority"), "--dump-header", path("head"), "--output",
            path("body"),
        ]
        for (name, value) in headers { arguments += ["--header", "\(name): \(value)"] }
        if let body {
            try Data(body).write(to: folder.appending(path: "sent"))
            arguments += ["--data-binary", "@" + path("sent")]
        }
        let process = try ChildProcess(
            executable: "/usr/bin/curl", arguments: arguments + options + [url], environment: ["PATH": "/usr/bin"])
        let end = try await process.waitForEnd(deadline: .hopeless)
        let lines = try? String(contentsOfFile: path("head"), encoding: .utf8).components(separatedBy: "\r\n")
        var received: [String: String] = [:]
        for line in lines?.dropFirst() ?? [] {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...]
            received[line[..<colon].lowercased()] = value.trimmingCharacters(in: .whitespaces)
        }
        let body = try? Data(contentsOf: folder.appending(path: "body"))
        return Answer(
            exitCode: end.exitCode,
            status: (lines?.first?.split(separator: " ").dropFirst().first).flatMap { Int($0) } ?? 0, headers: received,
            body: body.map { Array($0) } ?? [])
    }
}

extension ProcessEnd {
    fileprivate var exitCode: Int32 {
        switch self {
        case .exited(let code): code
        case .signalled(let signal): -signal
        }
    }
}
