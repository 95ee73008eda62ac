import AppStore
import Commands
import Foundation
import JSON
import Kafka
import OpenSSL
import Records
import Settings
import Store

enum ExportCommand: DeadLetterCommand {
    static let name = "export"
    static let summary =
        "Writes dead letters as lines of JSON, and a manifest of them: counts, the first and "
        + "last links of each chain and a SHA-256. 'dead-letter verify --offline' checks "
        + "both with nothing but the files. The originals may hold tokens and personal "
        + "data: they are left out unless --with-originals asks for them, which is recorded "
        + "in the history first, with --why."
    static let role = DatabaseRole.investigator
    static let options: [CommandOption] = [
        CommandOption("to", argument: "FOLDER", "A new folder, or an empty one, for the files."),
        CommandOption("since", argument: "TIME", "Failed at or after; see 'list --help'."),
        CommandOption("until", argument: "TIME", "Failed before."),
        CommandOption("with-originals", "Write the originals' keys, values and headers too."),
        CommandOption("why", argument: "TEXT", "Why originals are handed out, for the history."),
        ToolContext.auditorOption,
    ]

    static let recordsFile = "dead-letters.ndjson"
    static let manifestFile = "manifest.json"

    static func run(_ context: ToolContext) async throws -> Int32 {
        guard let folder = context.arguments.value("to") else { throw UsageError("expected --to FOLDER") }
        let filter = try FilterOptions.query(context.arguments, now: context.now)
        let hasOriginals = context.arguments.isSet("with-originals")
        if hasOriginals {
            let times = ["since", "until"].compactMap { name in context.arguments.value(name).map { "\(name) \($0)" } }
            let letters = times.isEmpty ? "all letters" : times.joined(separator: ", ")
            try await context.record(.exported, detail: letters)
        }
        let cluster = try await context.commits.clusterID()
        let recorded = try await context.redactions()
        let redacted = if let recorded { recorded } else { try await redactedIDs(context) }
        var leftOut: Set<String> = []
        let file = try ExportFile(folder, recordsFile)
        var counts = ExportCounts()
        var records = 0
        var failure: CommandError?
        func write(_ letter: DeadLetter, _ record: ConsumerRecord) {
            counts.add(letter)
            records += 1
            guard failure == nil else { return }
            do {
                let isRedacted = redacted.contains(letter.id)
                if isRedacted { leftOut.insert(letter.id) }
                let keepsOriginal = hasOriginals && !isRedacted
                try file.write(ExportedRecord.line(record, keepsOriginal: keepsOriginal))
            } catch { failure = error }
        }
        let reading = try await context.showingProgress("exporting") { progress in
            try await ChainReading.read(context, since: filter.since, until: filter.until, progress: progress, write)
        }
        if let failure { throw failure }
        let (bytes, sha256) = try file.finish()
        let manifest = ExportManifest(
            exportedAt: context.now, cluster: cluster, topic: context.topic.name, since: filter.since,
            until: filter.until, hasOriginals: hasOriginals, file: recordsFile, bytes: bytes, sha256: sha256,
            records: records, chains: reading.report.chains.compactMap(ExportManifest.Chain.init), counts: counts,
            redactions: leftOut, redactionsAreRecorded: recorded != nil)
        try ExportFile(folder, manifestFile, isFirst: false).finish(with: manifest.json.bytes)
        return report(reading.report, manifest, in: folder, context: context)
    }

    /// IDs of the letters with a redaction in the topic, for an export without a database.
    ///
    /// The topic may still hold an original before its redaction.
    private static func redactedIDs(_ context: ToolContext) async throws -> Set<String> {
        var ids: Set<String> = []
        _ = try await context.readTopic { letter, _ in if letter.value == .redacted { ids.insert(letter.id) } }
        return ids
    }

    private static func report(
        _ report: ChainReport, _ manifest: ExportManifest, in folder: String, context: ToolContext
    ) -> Int32 {
        let manifestSHA256 = SHA256.digest(manifest.json.bytes).hex
        if context.isJSON {
            context.console.print(json: manifest.json)
        } else {
            context.console.print("\(manifest.records) dead letters in \(folder)/\(recordsFile)")
            context.console.print("\(recordsFile)  sha256 \(manifest.sha256.hex)")
            context.console.print("\(manifestFile)  sha256 \(manifestSHA256)")
        }
        return ChainReportText.note(report, context.console)
    }
}

extension ExportManifest.Chain {
    /// Describes a chain for the manifest.
    ///
    /// `nil` for a chain without a letter.
    init?(_ summary: ChainSummary) {
        guard let first = summary.first, let last = summary.last else { return nil }
        self.init(name: summary.name, letters: summary.letters, previous: first.previous, last: last.digest)
    }
}

/// A file that is written once from start to end, and hashed on the way.
final class ExportFile {
    private let handle: FileHandle
    private let path: String
    private let hasher = SHA256Hasher()
    private var bytes = 0

    /// - Parameter isFirst: whether the folder must be new or empty.
    init(_ folder: String, _ name: String, isFirst: Bool = true) throws(CommandError) {
        path = folder + "/" + name
        let files = FileManager.default
        do {
            try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let isEmpty = try files.contentsOfDirectory(atPath: folder).isEmpty
            guard isEmpty || !isFirst else {
                throw CommandError(ExitCode.usage, "\(folder) holds files: give an empty folder")
            }
        } catch let error as CommandError { throw error } catch {
            throw CommandError(ExitCode.noInput, "cannot make the folder \(folder)")
        }
        // Only the exporting user may read the file, because originals may hold tokens.
        guard files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw CommandError(ExitCode.noInput, "cannot write \(path)") }
        self.handle = handle
    }

    func write(_ line: [UInt8]) throws(CommandError) {
        let line = line + [UInt8(ascii: "\n")]
        hasher.update(line)
        bytes += line.count
        do { try handle.write(contentsOf: line) } catch {
            throw CommandError(ExitCode.noInput, "cannot write \(path): is the disk full?")
        }
    }

    /// Closes the file, and returns the number of its bytes and their digest.
    func finish() throws(CommandError) -> (bytes: Int, sha256: SHA256Digest) {
        do {
            try handle.synchronize()
            try handle.close()
        } catch { throw CommandError(ExitCode.noInput, "cannot write \(path)") }
        return (bytes, hasher.finish())
    }

    func finish(with line: [UInt8]) throws(CommandError) {
        try write(line)
        _ = try finish()
    }
}
