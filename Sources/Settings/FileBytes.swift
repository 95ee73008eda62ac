import Foundation

/// Small files read whole: settings and secrets.
package enum FileBytes {
    /// What keeps a wrong path (a device, a data file) from filling the memory.
    static let bytesMax = 4 << 20

    static func isReadable(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            && !isDirectory.boolValue && FileManager.default.isReadableFile(atPath: path)
    }

    /// The file's bytes; nil where it cannot be read or is larger than `bytesMax`.
    package static func read(_ path: String) -> [UInt8]? {
        guard isReadable(path), let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: bytesMax + 1), data.count <= bytesMax else {
            return FileManager.default.contents(atPath: path)?.isEmpty == true ? [] : nil
        }
        return Array(data)
    }
}
