import AppStore
import JSON
import OpenSSL
import Records
import Settings

/// The description of an export, so that its two files can be checked without Kafka.
struct ExportManifest: Equatable {
    /// A chain in the export.
    struct Chain: Equatable {
        let name: ChainName
        let letters: Int
        /// The link before the first letter.
        ///
        /// `nil` if the chain begins with that letter.
        let previous: SHA256Digest?
        let last: SHA256Digest
    }

    let exportedAt: Timestamp
    let cluster: String
    let topic: String
    /// The earliest time of failure.
    ///
    /// `nil` without a bound.
    let since: Timestamp?
    /// The end of the times of failure, not included.
    ///
    /// `nil` without a bound.
    let until: Timestamp?
    let hasOriginals: Bool
    /// Name of the file with the records, in the manifest's folder.
    let file: String
    let bytes: Int
    let sha256: SHA256Digest
    let records: Int
    let chains: [Chain]
    let counts: ExportCounts
    /// The letters whose originals were left out because of a redaction.
    let redactions: Set<String>
    /// Whether these redactions are recorded in the database, and not only in the topic.
    let redactionsAreRecorded: Bool
}

extension ExportManifest {
    private static let format = "entitlement-pipeline export 2"

    var json: JSONContent {
        let chains = chains.map { chain in
            chain.name.json + ["letters": chain.letters] + .present("previous", chain.previous?.hex) + [
                "last": chain.last.hex
            ]
        }
        let head: JSONContent = [
            "format": Self.format, "exported_at": exportedAt.description, "cluster": cluster, "topic": topic,
        ]
        return head + .present("since", since?.description) + .present("until", until?.description) + [
            "originals": hasOriginals, "file": file, "bytes": bytes, "sha256": sha256.hex, "records": records,
            "redacted": redactions.sorted(), "redactions_recorded": redactionsAreRecorded, "by_reason": counts.byReason,
            "verifier_versions": counts.verifierVersions, "config_sha256": counts.configurations, "chains": chains,
        ]
    }

    /// Reads the output of `json`; throws `CommandError` for anything else.
    init(json text: [UInt8], path: String) throws(CommandError) {
        do throws(ExportFault) { try self.init(reading: JSONValue.exported(text)) } catch {
            throw CommandError(ExitCode.data, "\(path): it \(error.text)")
        }
    }

    private init(reading root: JSONValue) throws(ExportFault) {
        _ = try root.required("format", "\"\(Self.format)\"") { $0.string == Self.format ? $0 : nil }
        exportedAt = try root.required("exported_at", "a time") { value in
            value.string.flatMap { Timestamp(iso8601: $0) }
        }
        cluster = try root.requiredText("cluster")
        topic = try root.requiredText("topic")
        since = root["since"]?.string.flatMap { Timestamp(iso8601: $0) }
        until = root["until"]?.string.flatMap { Timestamp(iso8601: $0) }
        hasOriginals = try root.requiredBool("originals")
        file = try root.requiredText("file")
        bytes = Int(try root.requiredNumber("bytes"))
        sha256 = try root.requiredDigest("sha256")
        records = Int(try root.requiredNumber("records"))
        redactions = Set(try root.requiredList("redacted").elements.compactMap(\.string))
        redactionsAreRecorded = try root.requiredBool("redactions_recorded")
        counts = ExportCounts(
            byReason: root.counts("by_reason"), verifierVersions: root.counts("verifier_versions"),
            configurations: root.counts("config_sha256"))
        var chains: [Chain] = []
        for chain in try root.requiredList("chains").elements {
            do throws(ExportFault) { chains.append(try Chain(reading: chain)) } catch {
                let number = chains.count + 1
                throw ExportFault(text: "has a chain, number \(number), that \(error.text)")
            }
        }
        self.chains = chains
    }
}

/// The counts of an export; each copy of a letter counts.
struct ExportCounts: Equatable {
    var byReason: [String: Int] = [:]
    /// Number of letters by the version of the verifier that refused them.
    var verifierVersions: [String: Int] = [:]
    /// Number of letters by the hash of the settings under which they were refused.
    var configurations: [String: Int] = [:]

    mutating func add(_ letter: DeadLetter) {
        byReason[letter.reason, default: 0] += 1
        verifierVersions[letter.verifierVersion, default: 0] += 1
        configurations[letter.configurationSHA256, default: 0] += 1
    }
}

extension ExportManifest.Chain {
    fileprivate init(reading chain: JSONValue) throws(ExportFault) {
        guard let name = ChainName(chain) else {
            throw ExportFault(text: "has no stage, source topic or source partition")
        }
        self.init(
            name: name, letters: Int(try chain.requiredNumber("letters")),
            previous: chain["previous"]?.string.flatMap { SHA256Digest(hex: $0) },
            last: try chain.requiredDigest("last"))
    }
}

extension JSONContent {
    /// An object with one member, or with none if there is no value.
    fileprivate static func present(_ name: String, _ text: String?) -> JSONContent {
        .object(text.map { [(name, .string($0))] } ?? [])
    }
}

extension JSONValue {
    fileprivate func requiredDigest(_ name: String) throws(ExportFault) -> SHA256Digest {
        try required(name, "a SHA-256") { value in value.string.flatMap { SHA256Digest(hex: $0) } }
    }

    fileprivate func counts(_ name: String) -> [String: Int] {
        var counts: [String: Int] = [:]
        guard let object = self[name] else { return counts }
        for (key, count) in object.members {
            guard let key = key.string, let count = count.int64 else { continue }
            counts[key] = Int(count)
        }
        return counts
    }
}
