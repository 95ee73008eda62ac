import Foundation

/// A file that is gone when this is.
final class TemporaryFile: Sendable {
    let path: String

    init(_ text: String) throws {
        path = NSTemporaryDirectory() + "settings-\(UUID().uuidString)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
