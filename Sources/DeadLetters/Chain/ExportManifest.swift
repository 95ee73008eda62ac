package import AppStore
import JSON
package import OpenSSL
import Records
package import Settings

/// The contents of an export, so that it can be checked with the two files alone.
package struct ExportManifest: Sendable, Equatable {
    /// One chain in the export.
    package struct Chain: Sendable, Equatable {
        package let name: ChainName
        package let letters: Int
        /// The link before the first letter; nil if the chain begins with it.
        package let previous: SHA256Digest?
        package let last: SHA256Digest
    }

    package var exportedAt: Timestamp
    package var cluster: String
    package var topic: String
    /// Failed at or after it; nil without a bound.
    package var since: Timestamp?
    /// Failed before it; nil without a bound.
    package var until: Timestamp?
    package var hasOriginals: Bool
    /// The records' file, beside the manifest.
    package var file: String
    package var bytes: Int
    package var sha256: SHA256Digest
    package var records: Int
    package var chains: [Chain]
    package var counts: ExportCounts
    /// The letters whose originals were left out because of a redaction.
    package var redactions: Set<String> = []
    /// Whether these redactions are recorded in the database, and not only in the topic.
    package var redactionsAreRecorded = false

    private static let format = "entitlement-pipeline export 2"

    package var json: [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.object { writer in
            writer.key("format")
            writer.string(Self.format)
            writer.key("exported_at")
            writer.string(exportedAt.description)
            writer.key("cluster")
            writer.string(cluster)
            writer.key("topic")
            writer.string(topic)
            writer.optionalString("since", since?.description)
            writer.optionalString("until", until?.description)
            writer.key("originals")
            writer.bool(hasOriginals)
            writer.key("file")
            writer.string(file)
            writer.key("bytes")
            writer.int(bytes)
            writer.key("sha256")
            writer.string(sha256.hex)
            writer.key("records")
            writer.int(records)
            writer.key("redacted")
            writer.array { writer in redactions.sorted().forEach { writer.string($0) } }
            writer.key("redactions_recorded")
            writer.bool(redactionsAreRecorded)
            writer.counts("by_reason", counts.byReason)
            writer.counts("verifier_versions", counts.verifierVersions)
            writer.counts("config_sha256", counts.configurations)
            writer.key("chains")
            writer.array { writer in
                for chain in chains {
                    writer.object { writer in
                        writer.members(of: chain.name)
                        writer.key("letters")
                        writer.int(chain.letters)
                        writer.optionalString("previous", chain.previous?.hex)
                        writer.key("last")
                        writer.string(chain.last.hex)
                    }
                }
            }
        }
        return writer.bytes
    }

    /// Reads the output of `json`; throws `CommandError` for anything else.
    package init(json text: [UInt8], path: String) throws(CommandError) {
        do throws(ExportFault) {
            try self.init(reading: JSONValue.exported(text))
        } catch {
            throw CommandError(ExitCode.data, "\(path): it \(error.text)")
        }
    }

    private init(reading root: JSONValue) throws(ExportFault) {
        _ = try root.required("format", "\"\(Self.format)\"") {
            $0.string == Self.format ? $0 : nil
        }
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
            byReason: root.counts("by_reason"),
            verifierVersions: root.counts("verifier_versions"),
            configurations: root.counts("config_sha256")
        )
        chains = []
        for chain in try root.requiredList("chains").elements {
            do throws(ExportFault) {
                chains.append(try Chain(reading: chain))
            } catch {
                let number = chains.count + 1
                throw ExportFault(text: "has a chain, number \(number), that \(error.text)")
            }
        }
    }

    init(
        exportedAt: Timestamp,
        cluster: String,
        topic: String,
        hasOriginals: Bool,
        file: String,
        chains: [Chain]
    ) {
        self.exportedAt = exportedAt
        self.cluster = cluster
        self.topic = topic
        self.hasOriginals = hasOriginals
        self.file = file
        self.chains = chains
        bytes = 0
        records = 0
        sha256 = SHA256.digest([UInt8]())
        counts = ExportCounts()
    }
}

/// The counts of an export; copies of a letter count each.
package struct ExportCounts: Sendable, Equatable {
    package private(set) var byReason: [String: Int]
    /// By version of the verifier that refused them.
    package private(set) var verifierVersions: [String: Int]
    /// By hash of the settings under which they were refused.
    package private(set) var configurations: [String: Int]

    init(
        byReason: [String: Int] = [:],
        verifierVersions: [String: Int] = [:],
        configurations: [String: Int] = [:]
    ) {
        self.byReason = byReason
        self.verifierVersions = verifierVersions
        self.configurations = configurations
    }

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
            name: name,
            letters: Int(try chain.requiredNumber("letters")),
            previous: chain["previous"]?.string.flatMap { SHA256Digest(hex: $0) },
            last: try chain.requiredDigest("last")
        )
    }
}

extension JSONWriter {
    fileprivate mutating func counts(_ name: StaticString, _ counts: [String: Int]) {
        key(name)
        object { writer in
            for (key, count) in counts.sorted(by: { $0.key < $1.key }) {
                writer.key(key)
                writer.int(count)
            }
        }
    }
}

extension JSONValue {
    fileprivate func requiredDigest(_ name: String) throws(ExportFault) -> SHA256Digest {
        try required(name, "a SHA-256") { value in
            value.string.flatMap { SHA256Digest(hex: $0) }
        }
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
