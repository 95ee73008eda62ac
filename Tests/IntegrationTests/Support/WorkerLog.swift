import Foundation
import JSON

/// The log of one copy of a worker so far.
struct WorkerLog: Sendable {
    let lines: [Substring]

    init(path: String) {
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// The events of a message, in order.
    func events(_ message: String) -> [JSONValue] {
        let mark = "\"message\":\"\(message)\""
        return lines.filter { $0.contains(mark) }.compactMap(Self.event)
    }

    /// The lines that are no event; the last one of a killed process may be half a line.
    var strayLines: [Substring] { lines.filter { Self.event($0) == nil } }

    /// The port of health and metrics.
    ///
    /// `nil` while the worker is starting.
    var httpPort: UInt16? { events("worker started").last?["http.port"]?.int64.flatMap { UInt16(exactly: $0) } }

    private static func event(_ line: Substring) -> JSONValue? { (try? JSONDocument(parsing: Array(line.utf8)))?.root }
}
