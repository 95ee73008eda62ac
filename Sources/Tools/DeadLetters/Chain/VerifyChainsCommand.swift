import AppStore
import Commands
import Foundation
import Kafka
import OpenSSL
import Platform
import Records
import Settings
import Telemetry

enum VerifyChainsCommand: DeadLetterCommand {
    static let name = "verify"
    static let summary =
        "Walks the hash chains and names what is missing, altered, inserted or out of order. "
        + "A chain is the dead letters of one stage and source partition. The exit code is "
        + "0 without findings and 1 with any. Without an anchor it cannot show "
        + "that somebody has replaced a whole chain together with the group's commits."
    static let options: [CommandOption] = [
        CommandOption("anchor", argument: "FILE", "Compare with what 'dead-letter anchor' printed before."),
        CommandOption(
            "offline", argument: "MANIFEST", "Verify an export instead of the topic, with nothing but its files."),
        MetricsFile.option("Also write when nothing was last found"), .wide,
    ]

    static func run(_ context: ToolContext) async throws -> Int32 {
        let anchor = try context.arguments.value("anchor").map(readAnchor)
        let metricsFile = try MetricsFile(context.arguments)
        let report: ChainReport
        if let path = context.arguments.value("offline") {
            report = try await context.showingProgress("verifying") { progress in
                try ExportReading.read(manifest: path, anchor: anchor, progress)
            }
        } else {
            try anchor?.require(topic: context.topic.name)
            report = try await context.showingProgress("verifying") { progress in
                let anchors = anchor?.links ?? [:]
                return try await ChainReading.read(context, anchors: anchors, progress: progress).report
            }
        }
        try metricsFile?.write("chains", isSuccess: report.isIntact)
        if context.isJSON {
            context.console.print(json: ChainReportText.json(report))
            return ExitCode.answer(report.isIntact)
        }
        return ChainReportText.print(report, isWide: context.isWide, context.console)
    }

    private static func readAnchor(_ path: String) throws(CommandError) -> ChainAnchor {
        guard let bytes = FileBytes.read(path) else { throw CommandError(ExitCode.noInput, "cannot read \(path)") }
        return try ChainAnchor(json: bytes, path: path)
    }
}

/// Verifies the two files of an export against each other.
enum ExportReading {
    /// - Parameter progress: called with the number of records read, and their total by the manifest.
    static func read(manifest path: String, anchor: ChainAnchor?, _ progress: TopicScan.Progress = { _, _ in }) throws
        -> ChainReport
    {
        guard let text = FileBytes.read(path) else { throw CommandError(ExitCode.noInput, "cannot read \(path)") }
        let manifest = try ExportManifest(json: text, path: path)
        try anchor?.require(topic: manifest.topic)
        // The manifest is untrusted: it may only name a file in its own folder.
        guard !manifest.file.contains("/"), manifest.file != ".." else {
            throw CommandError(ExitCode.data, "\(path) names a file in another folder")
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let file = folder.appendingPathComponent(manifest.file).path
        var evidence = ChainEvidence()
        evidence.isRange = true
        evidence.anchors = anchor?.links ?? [:]
        evidence.redactions = manifest.redactionsAreRecorded ? manifest.redactions : nil
        for chain in manifest.chains { evidence.beginnings[chain.name] = ChainBeginning(after: chain.previous) }
        // The export must hold every letter that was anchored before the end of its time range.
        let end = manifest.until ?? manifest.exportedAt
        let isAnchorOlder = anchor.map { $0.takenAt < end } ?? false
        var (report, found) = try read(file, of: manifest, evidence: evidence, isAnchorOlder: isAnchorOlder, progress)
        if found.sha256 != manifest.sha256 || found.records != manifest.records {
            let difference =
                "\(found.records) records with the SHA-256 \(found.sha256.hex), the manifest "
                + "says \(manifest.records) with \(manifest.sha256.hex)"
            report.findings.insert(.fileDiffers(file, difference), at: 0)
        }
        compare(&report, with: manifest)
        try compare(&report, with: file)
        return report
    }

    /// Reads the file until the verifier has every letter that its report depends on.
    private static func read(
        _ file: String, of manifest: ExportManifest, evidence: ChainEvidence, isAnchorOlder: Bool,
        _ progress: TopicScan.Progress
    ) throws -> (report: ChainReport, found: (records: Int, sha256: SHA256Digest)) {
        var (evidence, exported) = (evidence, [Int32: ClosedRange<Int64>]())
        var verifier = ChainVerifier(topic: manifest.topic)
        verifier.expect(evidence)
        while true {
            var count: Int64 = 0
            let found = try read(file) { record, hasOriginal in
                count += 1
                progress(count, Int64(manifest.records))
                guard let letter = try? DeadLetter(decoding: record) else { return verifier.add(foreign: record) }
                let (partition, offset) = (record.topicPartition.partition, record.offset)
                let known = exported[partition] ?? offset...offset
                exported[partition] = min(known.lowerBound, offset)...max(known.upperBound, offset)
                guard var kept = ChainLetter(letter, record, hasOriginal: hasOriginal) else {
                    return verifier.add(unchained: letter)
                }
                if !hasOriginal, manifest.hasOriginals, !manifest.redactions.contains(letter.id) {
                    kept.problem = kept.problem ?? .originalLeftOut
                }
                verifier.add(kept)
            }
            for link in evidence.anchors.values where isAnchorOlder {
                let first = exported[link.partition]?.lowerBound
                exported[link.partition] = (first ?? (manifest.since == nil ? 0 : .max))...(.max)
            }
            evidence.exported = exported
            let report = verifier.report(evidence)
            guard verifier.mustReadAgain else { return (report, found) }
            verifier.removeLetters()
        }
    }

    private static func read(_ file: String, _ visit: (ConsumerRecord, _ hasOriginal: Bool) -> Void) throws -> (
        records: Int, sha256: SHA256Digest
    ) {
        guard let input = InputFile(path: file) else { throw CommandError(ExitCode.noInput, "cannot read \(file)") }
        let hasher = SHA256Hasher()
        var lines = LineReader(lineBytesMax: ExportedRecord.lineBytesMax, of: input)
        var records = 0
        do {
            while let line = try lines.next() {
                hasher.update(line + [UInt8(ascii: "\n")])
                records += 1
                let (record, hasOriginal) = try ExportedRecord.read(line)
                visit(record, hasOriginal)
            }
        } catch let error as ExportFault {
            throw CommandError(ExitCode.data, "\(file), line \(records): it \(error.text)")
        } catch let error as LineReader.LineTooLong {
            let most = "\(ExportedRecord.lineBytesMax) bytes"
            let place = "\(file), line \(error.lineNumber)"
            throw CommandError(ExitCode.data, "\(place): it is longer than \(most)")
        }
        return (records, hasher.finish())
    }

    /// Adds to the report how altered letters differ, and the lines of all records that the findings name.
    private static func compare(_ report: inout ChainReport, with file: String) throws {
        let compared = report.lettersToCompare
        let named = report.positionsNamed
        guard !compared.isEmpty || !named.isEmpty else { return }
        var records: [RecordPosition: ConsumerRecord] = [:]
        var line = 0
        _ = try read(file) { record, _ in
            line += 1
            let position = RecordPosition(record)
            if compared.contains(position) { records[position] = record }
            if named.contains(position) { report.notes.append("\(position) is line \(line)") }
        }
        report.compare(records)
    }

    /// Compares the ends and lengths of the chains with the manifest.
    private static func compare(_ report: inout ChainReport, with manifest: ExportManifest) {
        for chain in manifest.chains {
            let found = report.chains.first { $0.name == chain.name }
            if found?.last?.digest != chain.last {
                report.findings.append(.endMissing(chain.name, chain.last, last: nil))
            } else if let found, found.letters < chain.letters {
                report.findings.append(.fewer(chain.name, counted: Int64(chain.letters), found: found.letters))
            }
        }
    }
}
