import Foundation
import Operations
import Settings
import Simulation

/// The demo's folder with settings, certificates, catalog and the workers' logs.
struct DemoFolder: Sendable {
    let path: String

    /// Creates a folder that only this user can read, because its settings contain a database's password.
    init() throws(CommandError) {
        let base = FileManager.default.temporaryDirectory.appending(
            path: "pipeline-demo-" + String(repeating: "X", count: 6))
        var template = base.path.utf8CString.map { $0 }
        guard mkdtemp(&template) != nil else {
            throw CommandError(ExitCode.noInput, "cannot make a folder below \(base.deletingLastPathComponent().path)")
        }
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        self.path = path
        try? ProcessWatchdog.shared.guardFolder(path)
    }

    /// Uses a permanent folder, and creates it if it does not exist.
    init(at path: String) throws(CommandError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CommandError(ExitCode.noInput, "cannot make a folder at \(path)") }
        self.path = path
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    func write(_ bytes: some Sequence<UInt8>, to name: String) throws(CommandError) {
        guard
            FileManager.default.createFile(
                atPath: path(of: name), contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(ExitCode.noInput, "cannot write \(path(of: name))") }
    }

    /// Returns the last lines of a file, for an error message.
    func lastLines(of name: String, count: Int) -> [String] {
        guard let bytes = FileManager.default.contents(atPath: path(of: name)) else { return [] }
        let lines = String(decoding: bytes.suffix(16_384), as: UTF8.self).split(separator: "\n")
        return lines.suffix(count).map { String($0) }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
