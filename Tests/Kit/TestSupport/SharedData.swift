package import Foundation
package import Testing

/// The public test data that several projects share: a folder beside the package, or wherever the
/// environment variable `SHARED_DATA` says.
package enum SharedData {
    package static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["SHARED_DATA"], !path.isEmpty {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../../shared", isDirectory: true
        ).standardizedFileURL
    }()

    package static var vectors: URL { folder.appendingPathComponent("vectors") }

    package static var isAvailable: Bool { FileManager.default.fileExists(atPath: vectors.path) }

    /// The bytes of one file below `vectors`.
    package static func vector(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: vectors.appendingPathComponent(path)))
    }

    /// The names of the files in one folder below `vectors`, sorted; none if the folder is
    /// missing, so that it can feed a parameterised test.
    package static func vectorNames(in path: String) -> [String] {
        let folder = vectors.appendingPathComponent(path).path
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test where the shared data is not on this machine, and says so.
    package static var needsSharedData: Self {
        .enabled(if: SharedData.isAvailable, "no vectors in \(SharedData.folder.path); set SHARED_DATA to their folder")
    }
}
