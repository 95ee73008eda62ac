import JSON

/// The JSON file of settings: nested objects, whose keys joined by dots are the settings' names.
package struct SettingsFile: Sendable {
    /// Shown in problems.
    package let path: String
    let root: JSONValue

    /// Reads a file's text.
    ///
    /// - Throws: one problem that says why this is no JSON object.
    package init(path: String, bytes: [UInt8]) throws(SettingsError) {
        self.path = path
        do {
            root = try JSONDocument(parsing: bytes).root
        } catch {
            throw Self.error(path, "not JSON: \(error.code.rawValue) at byte \(error.offset)")
        }
        guard root.kind == .object else {
            throw Self.error(path, "expected a JSON object of settings")
        }
    }

    /// Reads a file from disk.
    package init(path: String) throws(SettingsError) {
        guard let bytes = FileBytes.read(path) else {
            throw Self.error(path, "expected a JSON file that this process can read, at most 4MiB")
        }
        try self.init(path: path, bytes: bytes)
    }

    /// The values by dotted name, as far as the names are known, in the order of the file.
    ///
    /// An object is taken apart unless its own name is known.
    func leaves(isKnown: (String) -> Bool) -> [(name: String, value: JSONValue)] {
        var found: [(name: String, value: JSONValue)] = []
        var pending: [(name: String, value: JSONValue)] = [("", root)]
        while let (prefix, object) = pending.popLast() {
            for (key, value) in object.members {
                let name = prefix.isEmpty ? key.string ?? "" : "\(prefix).\(key.string ?? "")"
                if value.kind == .object, !isKnown(name) {
                    pending.append((name, value))
                } else {
                    found.append((name, value))
                }
            }
        }
        return found.sorted { $0.value.range.lowerBound < $1.value.range.lowerBound }
    }

    private static func error(_ path: String, _ message: String) -> SettingsError {
        SettingsError(
            problems: [
                SettingProblem(setting: "--config", origin: "file \(path)", message: message)
            ]
        )
    }
}
