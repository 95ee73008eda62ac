import Foundation
import HTTP
import Simulation
import Synchronization

/// A browser without a screen: plain HTTP, with its cookies and the tokens of the pages' forms.
package final class ConsoleClient: Sendable {
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [String: String]
        package let cookies: [String]
        package let body: String

        package var location: String? { headers["location"] }

        init(_ text: String) {
            let parts = text.components(separatedBy: "\r\n\r\n")
            let lines = parts[0].components(separatedBy: "\r\n")
            let words = lines[0].split(separator: " ")
            status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            var headers: [String: String] = [:]
            var cookies: [String] = []
            for line in lines.dropFirst() {
                let pair = line.split(separator: ":", maxSplits: 1).map(String.init)
                guard pair.count == 2 else { continue }
                let value = pair[1].trimmingCharacters(in: .whitespaces)
                headers[pair[0].lowercased()] = value
                if pair[0].lowercased() == "set-cookie" { cookies.append(value) }
            }
            self.headers = headers
            self.cookies = cookies
            body = parts.dropFirst().joined(separator: "\r\n\r\n")
        }

        /// The token in the page's first form.
        package var formToken: String? { body.firstMatch(of: /name="form-token" value="([^"]*)"/).map { String($0.1) } }
    }

    package let port: UInt16
    private let source: UInt8
    private let headers: [String]
    private let cookies = Mutex<[String: String]>([:])

    /// - Parameter headers: sent with every request, such as those of a proxy that signs in.
    package init(port: UInt16, source: UInt8 = 1, headers: [String] = []) {
        self.port = port
        self.source = source
        self.headers = headers
    }

    /// The session's cookie, as `name=value`.
    package var cookie: String {
        get {
            cookies.withLock { cookies in
                cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            }
        }
        set { cookies.withLock { $0 = HTTPForm.cookies(newValue) } }
    }

    package func send(_ method: String, _ path: String, headers: [String] = [], host: String? = nil, body: String = "")
        async throws -> Answer
    {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"]
        if !cookie.isEmpty { lines.append("Cookie: \(cookie)") }
        if method == "POST" { lines.append("Content-Length: \(body.utf8.count)") }
        let request = (lines + self.headers + headers).joined(separator: "\r\n") + "\r\n\r\n" + body
        let answer = Answer(try await Self.exchange(request, port: port, from: source))
        for cookie in answer.cookies {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies.withLock { $0[String(pair[0])] = pair.count == 2 ? String(pair[1]) : nil }
        }
        return answer
    }

    /// Exchanges a request and its answer on a thread that may block.
    ///
    /// The console answers on the threads of the tests.
    private static func exchange(_ request: String, port: UInt16, from source: UInt8) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(with: Result { try RawClient.exchange(request, port: port, from: source) })
            }
            thread.start()
        }
    }

    package func get(_ path: String, headers: [String] = []) async throws -> Answer {
        try await send("GET", path, headers: headers)
    }

    package func post(_ path: String, _ fields: [(String, String)], headers: [String] = []) async throws -> Answer {
        let items = fields.map { HTTPItem($0.0, $0.1) }
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try await send("POST", path, headers: [type] + headers, body: HTTPForm.encoded(items))
    }

    /// Posts a form with the token that a page holds.
    @discardableResult package func submit(
        _ path: String, _ fields: [(String, String)], from page: String, headers: [String] = []
    ) async throws -> Answer {
        let token = try await get(page).formToken ?? ""
        return try await post(path, [("form-token", token)] + fields, headers: headers)
    }

    @discardableResult package func signIn(_ name: String, _ password: String) async throws -> Answer {
        try await submit("/sign-in", [("name", name), ("password", password)], from: "/sign-in")
    }
}
