import AppStore
import Foundation
import JSON
import Platform
import Settings
import Store

/// Looks through the files of `pipeline history archive` for rows about one user.
///
/// A row of `changes` belongs to the user that it names. A row of `notifications` or `revisions`
/// belongs to the user whose token, app transaction or purchase it names, by the present links.
struct ArchiveSearch {
    private static let lineBytesMax = 64 * 1_048_576

    private let user: Identifier
    /// By kind and key; the environment and bundle of each, empty for any.
    private let scopes: [Key: [(environment: String, bundleID: Identifier)]]

    private struct Key: Hashable {
        let kind: String
        let key: Identifier
    }

    init(user: Identifier, keys: [StoredAboutUser.SearchKey]) {
        self.user = user
        scopes = Dictionary(grouping: keys) { Key(kind: $0.kind, key: $0.key) }
            .mapValues { $0.map { ($0.environment, $0.bundleID) } }
    }

    /// Looks through all archives that the database knows, and those in a folder that it does not.
    ///
    /// - Parameters:
    ///   - folder: where files are looked for by their names before the path that was written down.
    ///   - report: called with a file's path and how many rows of it were read so far.
    func run(
        _ known: [HistoryArchiveTable.Row],
        folder: String?,
        report: (String, Int) -> Void
    ) throws(CommandError) -> [SearchedArchive] {
        let present = try folder.map { folder throws(CommandError) in try Self.files(in: folder) }
        var searched: [SearchedArchive] = []
        for archive in known {
            let name = URL(filePath: archive.file).lastPathComponent
            let path =
                folder.flatMap { present?.contains(name) == true ? "\($0)/\(name)" : nil }
                ?? archive.file
            let header = ArchiveHeader(number: archive.number, table: archive.table)
            searched.append(search(path, header, rowCount: archive.rowCount, report))
        }
        let names = Set(known.map { URL(filePath: $0.file).lastPathComponent })
        for name in (present ?? []).sorted() where !names.contains(name) {
            let path = "\(folder ?? "")/\(name)"
            // Whatever else lies in the folder is no archive.
            guard let header = Self.header(of: path) else { continue }
            searched.append(search(path, header, rowCount: nil, report))
        }
        return searched
    }

    private static func files(in folder: String) throws(CommandError) -> Set<String> {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw CommandError(ExitCode.noInput, "cannot read the folder \(folder)")
        }
        return Set(names)
    }

    private static func header(of path: String) -> ArchiveHeader? {
        guard var lines = open(path) else { return nil }
        return (try? lines.next()).flatMap(\.self).flatMap { ArchiveHeader($0) }
    }

    /// Nil for what is no file or cannot be read; a pipe would be waited for.
    private static func open(_ path: String) -> LineReader? {
        let url = URL(filePath: path).resolvingSymlinksInPath()
        guard (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true,
            let file = InputFile(path: path)
        else { return nil }
        return LineReader(lineBytesMax: lineBytesMax, of: file)
    }

    private func search(
        _ path: String,
        _ expected: ArchiveHeader,
        rowCount: Int64?,
        _ report: (String, Int) -> Void
    ) -> SearchedArchive {
        var result = SearchedArchive(header: expected, file: path)
        guard var lines = Self.open(path) else {
            result.fault = .notThere
            return result
        }
        var read = 0
        do {
            guard let first = try lines.next(), ArchiveHeader(first) == expected else {
                result.fault = .otherFile
                return result
            }
            while let line = try lines.next() {
                read += 1
                guard let row = try? JSONDocument(parsing: line).root,
                    let isAboutUser = isAboutUser(row, of: expected.table)
                else {
                    result.fault = result.fault ?? .damaged(line: lines.lineNumber)
                    continue
                }
                if isAboutUser { result.rows += 1 }
                if read.isMultiple(of: 1_000) { report(path, read) }
            }
        } catch {
            result.fault = .damaged(line: lines.lineNumber + 1)
        }
        if result.fault == nil, let rowCount, read < rowCount {
            result.fault = .incomplete(rows: read, of: rowCount)
        }
        return result
    }

    /// Nil if the row does not hold what its table does.
    private func isAboutUser(_ row: JSONValue, of table: HistoryArchiving.Table) -> Bool? {
        switch table {
        case .changes:
            return row["user_id"]?.identifier.map { $0 == user }
        case .notifications:
            return names(row, "original_transaction_id", row["original_transaction_id"]?.string)
        case .revisions:
            // Apple's own words, as a string so that not a byte of them changes.
            guard let payload = row["payload"]?.stringBytes,
                let signed = try? JSONDocument(parsing: payload, policy: .grammar).root
            else { return nil }
            return names(row, "account_token", signed["appAccountToken"]?.string?.lowercased())
                || names(row, "original_transaction_id", signed["originalTransactionId"]?.string)
                || names(row, "app_transaction_id", signed["appTransactionId"]?.string)
        }
    }

    /// Whether an identifier that a row carries is the user's in the row's environment and bundle.
    private func names(_ row: JSONValue, _ kind: String, _ key: String?) -> Bool {
        guard let key, let scopes = scopes[Key(kind: kind, key: Identifier(key))] else {
            return false
        }
        let environment = row["environment"]?.string ?? ""
        // Renewal info names no app.
        let bundleID = row["bundle_id"]?.identifier ?? ""
        return scopes.contains { scope in
            (scope.environment.isEmpty || scope.environment == environment)
                && (scope.bundleID.isEmpty || bundleID.isEmpty || scope.bundleID == bundleID)
        }
    }
}
