import AppStore
import Commands
import JSON
import Settings
import Store

/// Reads a foreign table, in bounded batches.
struct ImportSource {
    /// A line about a customer.
    struct Line {
        let number: Int
        let app: RecoveredApp
        var links: [AccountLink] = []
        var ids: [Identifier] = []
        var body: [UInt8]?
    }

    /// Maximum lines of a batch.
    private static let batchMax = 2_000
    /// Maximum bytes of a batch's bodies.
    private static let bodyBytesMax = 16 << 20
    /// Maximum bytes of a row: more than `verify-worker` accepts as a body.
    private static let rowBytesMax = 2 << 20
    /// Maximum lines with quotation marks in a row; each is a reason to split the row again.
    private static let rowLinesMax = 1_000
    /// Maximum tokens and records of a body; a receipt lists each renewal.
    private static let partsMax = 10_000

    private var lines: LineReader
    let name: String
    private let apps: Set<RecoveredApp>
    private let environment: Environment
    private let bundle: String?
    let columns: ImportColumns
    private(set) var otherStores = 0, otherApps = 0

    /// - Parameters:
    ///   - apps: the apps that `recovery-worker` asks about.
    ///   - environment: the environment of lines that name none.
    init(_ path: String, _ arguments: CommandArguments, apps: Set<RecoveredApp>, environment: Environment) throws {
        (self.apps, self.environment, bundle) = (apps, environment, arguments.value("bundle"))
        name = BodySource.name(of: path)
        lines = LineReader(lineBytesMax: Self.rowBytesMax, of: try BodySource.open(path))
        do {
            let first = try lines.next() ?? []
            let mark = first.starts(with: LinkLine.byteOrderMark) ? LinkLine.byteOrderMark.count : 0
            columns = try ImportColumns(Self.text(first.dropFirst(mark)), given: arguments.value("columns"))
        } catch { throw LinkSource.failure(error, name, line: 1) }
    }

    /// Returns the next batch, or `nil` at the end.
    mutating func next() throws -> [Line]? {
        var batch: [Line] = []
        var bytes = 0
        while batch.count < Self.batchMax, bytes < Self.bodyBytesMax, let line = try nextLine() {
            bytes += line.body?.count ?? 0
            batch.append(line)
        }
        return batch.isEmpty ? nil : batch
    }

    /// Reads up to the next line that is to be imported.
    private mutating func nextLine() throws -> Line? {
        while true {
            let number = lines.lineNumber + 1
            do {
                guard let row = try nextRow() else { return nil }
                if !row.isEmpty, let line = try line(row, number) { return line }
            } catch { throw LinkSource.failure(error, name, line: number) }
        }
    }

    /// Reads a row, whose quoted fields may contain line breaks; empty for a blank line.
    private mutating func nextRow() throws -> [String]? {
        guard var row = try lines.next() else { return nil }
        for _ in 0..<Self.rowLinesMax {
            let text = try Self.text(row[...])
            if text.isEmpty { return [] }
            if let fields = try SeparatedRow.fields(of: text, by: columns.separator) {
                guard fields.count == columns.count else {
                    throw LinkLine.Fault(expected: "\(columns.count) fields as in line 1, found \(fields.count)")
                }
                return fields
            }
            var more: [UInt8]
            repeat {
                guard row.count <= Self.rowBytesMax, let line = try lines.next() else { throw Self.isOpen }
                more = line
                row += [UInt8(ascii: "\n")] + more
            } while !more.contains(UInt8(ascii: "\""))
        }
        throw Self.isOpen
    }

    private static let isOpen = LinkLine.Fault(expected: "a closing quotation mark")

    /// Returns a line's bytes without its carriage return.
    private static func text(_ line: ArraySlice<UInt8>) throws(LinkLine.Fault) -> [UInt8] {
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        guard String(validating: text, as: UTF8.self) != nil else { throw LinkLine.Fault(expected: "UTF-8") }
        guard !text.contains(0) else { throw LinkLine.Fault(expected: "a text without NUL") }
        return Array(text)
    }

    /// Returns the contents of a row, or `nil` if it is passed over.
    private mutating func line(_ row: [String], _ number: Int) throws(LinkLine.Fault) -> Line? {
        let store = columns.value(.store, of: row)
        guard ["", "app_store", "mac_app_store"].contains(store) else {
            otherStores += 1
            return nil
        }
        guard let app = try app(of: row) else {
            otherApps += 1
            return nil
        }
        let user = columns.value(.user, of: row)
        let token = columns.value(.accountToken, of: row)
        var ids = [columns.value(.originalTransactionID, of: row)].filter { !$0.isEmpty }
        let body = Array(columns.value(.body, of: row).utf8)
        if !body.isEmpty { ids += try Self.ids(in: body) }
        guard !ids.isEmpty || !token.isEmpty || !body.isEmpty else {
            throw LinkLine.Fault(expected: "an original transaction ID, an account token or a body")
        }
        var line = Line(number: number, app: app, body: body.isEmpty ? nil : body)
        for id in ids {
            let link = try Self.link(.originalTransactionID, id, to: user, in: app)
            if !user.isEmpty { line.links.append(link) }
            line.ids.append(link.key)
        }
        // A purchase may have passed to a user who never had its token, so its ID alone is linked.
        if !token.isEmpty, ids.isEmpty {
            // A token has one user in every app; it is stored in lower case.
            let link = try Self.link(.accountToken, token.lowercased(), to: user, in: nil)
            if !user.isEmpty { line.links.append(link) }
        }
        return line
    }

    /// Throws for an ID that no purchase can have.
    private static func link(_ kind: LinkKind, _ key: String, to name: String, in app: RecoveredApp?) throws(LinkLine
        .Fault) -> AccountLink
    {
        let fields: LinkLine.Fields = (
            kind: kind.rawValue, key: key, user: name, environment: app?.environment.rawValue ?? "",
            bundle: app?.bundleID.text ?? ""
        )
        try LinkLine.check(key, of: kind)
        return try LinkLine.link(kind, fields, isUserRequired: false)
    }

    /// The original transaction IDs in a body that is not verified yet.
    ///
    /// They count as much as a column with the ID.
    private static func ids(in body: [UInt8]) throws(LinkLine.Fault) -> [String] {
        let contents = UnverifiedContents(of: body, partsMax: partsMax)
        guard contents.isWhole else { throw LinkLine.Fault(expected: "a body of at most \(partsMax) parts") }
        let payloads = contents.parts.compactMap(\.payload)
        guard !payloads.isEmpty else { throw LinkLine.Fault(expected: "a signed transaction or a receipt as body") }
        var ids: [String] = []
        for id in payloads.compactMap({ $0["originalTransactionId"]?.string }) where !ids.contains(id) {
            ids.append(id)
        }
        return ids
    }

    /// The app of a row.
    ///
    /// `nil` for an app that `recovery-worker` does not ask about.
    private func app(of row: [String]) throws(LinkLine.Fault) -> RecoveredApp? {
        var environment = environment
        let (named, sandbox) = (columns.value(.environment, of: row), columns.value(.sandbox, of: row))
        if !named.isEmpty {
            guard AppleEnvironment(rawValue: named) != nil else {
                throw LinkLine.Fault(expected: "one of \(AppleEnvironment.names) as environment")
            }
            environment = Environment(rawValue: named)
        } else if !sandbox.isEmpty {
            switch sandbox.lowercased() {
            case "true", "t", "1": environment = .sandbox
            case "false", "f", "0": environment = .production
            default: throw LinkLine.Fault(expected: "true or false as sandbox")
            }
        }
        let known = apps.filter { $0.environment == environment }
        let column = columns.value(.bundle, of: row)
        guard let bundle = column.isEmpty ? bundle : column else {
            guard known.count <= 1 else {
                throw LinkLine.Fault(expected: "a bundle, in a column or by --bundle: recovery-worker has several apps")
            }
            return known.first
        }
        return known.first { $0.bundleID == Identifier(bundle) }
    }
}
