import AppStore
import JSON
package import OpenSSL
import Settings

/// The last link of every chain at one time, for a third party to keep.
///
/// It proves later that the letters are unchanged: replacing one changes every later link, and the
/// anchored link is out of reach.
package struct ChainAnchor: Sendable, Equatable {
    package struct Link: Sendable, Equatable {
        package let digest: SHA256Digest
        /// The letter's partition in the dead-letter topic.
        package let partition: Int32
        package let offset: Int64
        package let letters: Int
    }

    let takenAt: Timestamp
    let cluster: String
    let topic: String
    let links: [ChainName: Link]
}

extension ChainAnchor {
    /// Takes the ends of the chains that a walk has found.
    init(_ report: ChainReport, takenAt: Timestamp, cluster: String, topic: String) {
        var links: [ChainName: Link] = [:]
        for chain in report.chains {
            guard let last = chain.last else { continue }
            links[chain.name] = Link(
                digest: last.digest, partition: last.partition, offset: last.offset, letters: chain.letters)
        }
        self.init(takenAt: takenAt, cluster: cluster, topic: topic, links: links)
    }

    /// Throws if the anchor was taken from another topic than the verified one.
    func require(topic name: String) throws(CommandError) {
        guard topic != name else { return }
        throw CommandError(ExitCode.data, "the anchor is of the topic \(topic), not of \(name)")
    }

    private static let format = "entitlement-pipeline anchor 1"

    var json: JSONContent {
        let chains = links.sorted { $0.key < $1.key }.map { name, link in
            name.json + [
                "letters": link.letters, "link": link.digest.hex, "letter_partition": link.partition,
                "letter_offset": link.offset,
            ]
        }
        return [
            "format": Self.format, "taken_at": takenAt.description, "cluster": cluster, "topic": topic,
            "chains": chains,
        ]
    }

    /// Reads the output of `json`; throws `CommandError` for anything else.
    init(json bytes: [UInt8], path: String) throws(CommandError) {
        let problem = CommandError(ExitCode.data, "\(path) is no anchor of 'dead-letter anchor'")
        guard let root = try? JSONDocument(parsing: bytes).root, root["format"]?.string == Self.format,
            let takenAt = root["taken_at"]?.string.flatMap({ Timestamp(iso8601: $0) }),
            let cluster = root["cluster"]?.string, let topic = root["topic"]?.string, let chains = root["chains"],
            chains.kind == .array
        else { throw problem }
        var links: [ChainName: Link] = [:]
        for chain in chains.elements {
            guard let name = ChainName(chain), let letters = chain["letters"]?.int64,
                let digest = chain["link"]?.string.flatMap({ SHA256Digest(hex: $0) }),
                let partition = chain["letter_partition"]?.int64.flatMap({ Int32(exactly: $0) }),
                let offset = chain["letter_offset"]?.int64
            else { throw problem }
            links[name] = Link(digest: digest, partition: partition, offset: offset, letters: Int(letters))
        }
        self.init(takenAt: takenAt, cluster: cluster, topic: topic, links: links)
    }
}

extension ChainName {
    /// The members that name a chain.
    var json: JSONContent { ["stage": stage, "source_topic": topic, "source_partition": partition] }

    /// Reads the members that name a chain.
    ///
    /// `nil` if one is missing.
    init?(_ value: JSONValue) {
        guard let stage = value["stage"]?.string, let topic = value["source_topic"]?.string,
            let partition = value["source_partition"]?.int64.flatMap({ Int32(exactly: $0) })
        else { return nil }
        self.init(stage: stage, topic: topic, partition: partition)
    }
}
