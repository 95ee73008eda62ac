import AppStore
import Foundation
import JSON
import Settings
import Store

/// The first line of an archive, by which its rows find their way back.
struct ArchiveHeader: Equatable {
    /// In `history_archives`.
    let number: Int64
    let table: HistoryArchiving.Table
}

extension ArchiveHeader {
    /// Nil if the line is no such header.
    init?(_ line: [UInt8]) {
        guard let root = try? JSONDocument(parsing: line).root,
            let number = root["archive"]?.int64,
            let table = root["table"]?.string.flatMap(HistoryArchiving.Table.init(rawValue:))
        else { return nil }
        self.init(number: number, table: table)
    }

    var line: [JSONText] {
        let header: JSONContent = ["archive": number, "table": table.rawValue]
        return [JSONText(header.bytes)]
    }
}

/// A new file of one JSON object a line, readable by its owner alone.
final class ArchiveFile {
    let path: String
    private let handle: FileHandle
    private var isEmpty = true

    /// Makes the folder, and a file in it that was not there; both are found again after a power
    /// cut.
    init(folder: String, table: HistoryArchiving.Table, before: StoredTime) throws(CommandError) {
        let files = FileManager.default
        let stamp = Timestamp(before).day
        path = "\(folder)/\(table.rawValue)-before-\(stamp)-\(UUID().uuidString.prefix(8)).jsonl"
        let isNew = !files.fileExists(atPath: folder)
        let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try? files.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: mode
        )
        guard
            files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw CommandError(ExitCode.noInput, "cannot write \(path)") }
        self.handle = handle
        do {
            try Self.synchronize(folder: folder)
            // A folder that was there before is on disk, and the one above may not be readable.
            if isNew {
                try Self.synchronize(folder: URL(filePath: folder).deletingLastPathComponent().path)
            }
        } catch {
            removeIfEmpty()
            throw error
        }
    }

    /// Synchronizes a folder, without which names of new files may be lost (fsync(2)).
    private static func synchronize(folder: String) throws(CommandError) {
        do {
            let handle = try FileHandle(forReadingFrom: URL(filePath: folder))
            try handle.synchronize()
            try handle.close()
        } catch {
            throw CommandError(ExitCode.noInput, "cannot write \(folder) to disk: \(error)")
        }
    }

    deinit { try? handle.close() }

    /// Appends lines, and returns when they are on disk.
    func write(_ lines: [JSONText]) throws(CommandError) {
        guard !lines.isEmpty else { return }
        var bytes = Data()
        for line in lines {
            bytes.append(contentsOf: line.bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
        do {
            try handle.write(contentsOf: bytes)
            try handle.synchronize()
        } catch {
            throw CommandError(
                ExitCode.noInput,
                "cannot write \(path): make room, and run the command again; what is not in a "
                    + "file is still in the database"
            )
        }
        isEmpty = false
    }

    /// Takes away a file that nothing was written to.
    func removeIfEmpty() {
        if isEmpty { try? FileManager.default.removeItem(atPath: path) }
    }
}
