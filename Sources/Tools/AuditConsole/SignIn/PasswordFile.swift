import Foundation
package import Settings
import Synchronization

/// The users who sign in with a password: lines `name:role:scrypt$…`; a line that begins with `#` is a comment.
package struct PasswordFile: Sendable, Equatable {
    package struct User: Sendable, Equatable {
        package let name: UserName
        package let role: ConsoleRole
        package let hash: PasswordHash
    }

    package let users: [String: User]

    /// Reads all lines and reports every problem at once; no part of a hash is quoted.
    package init(_ bytes: [UInt8], path: String) throws(SettingsError) {
        var users: [String: User] = [:]
        var problems: [SettingProblem] = []
        func report(_ line: Int, _ message: String) {
            let place = SettingProblem(
                setting: ConsoleSettings.passwordFile.declaration.name, origin: "file \(path), line \(line)",
                message: message)
            problems.append(place)
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in lines.enumerated() {
            let line = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, let name = UserName(String(parts[0])),
                let role = ConsoleRole(rawValue: String(parts[1])), let hash = PasswordHash(parts[2])
            else {
                report(index + 1, "expected NAME:ROLE:scrypt$…, as 'dead-letter password' prints")
                continue
            }
            let former = users.updateValue(User(name: name, role: role, hash: hash), forKey: name.text)
            if former != nil { report(index + 1, "an earlier line has the same user") }
        }
        if users.isEmpty, problems.isEmpty {
            report(1, "holds no user: append what 'dead-letter password NAME --role ROLE' prints")
        }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        self.users = users
    }

    package init(path: String) throws(SettingsError) {
        guard let bytes = FileBytes.read(path) else {
            throw SettingsError(problems: [
                SettingProblem(
                    setting: ConsoleSettings.passwordFile.declaration.name, origin: "file \(path)",
                    message: "cannot be read, or is larger than a settings file may be")
            ])
        }
        try self.init(bytes, path: path)
    }
}

/// The current password file: a user who is removed from it loses access.
final class PasswordUsers: Sendable {
    private struct State {
        var file: PasswordFile
        var contents: [UInt8]?
    }

    private let path: String
    private let state: Mutex<State>

    init(path: String) throws(SettingsError) {
        self.path = path
        let contents = FileBytes.read(path)
        state = Mutex(State(file: try PasswordFile(path: path), contents: contents))
    }

    /// The users of the file, or of its last valid version if the file is unreadable or invalid now.
    var users: [String: PasswordFile.User] {
        state.withLock { state in
            // Contents are compared, not dates: a mounted secret is a link, and only its target is replaced.
            if let contents = FileBytes.read(path), contents != state.contents,
                let file = try? PasswordFile(contents, path: path)
            {
                state = State(file: file, contents: contents)
            }
            return state.file.users
        }
    }
}
