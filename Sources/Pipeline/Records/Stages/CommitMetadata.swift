import Kafka
package import OpenSSL

/// The metadata text of a committed offset: the partition's tally, and additions of later versions or other programs.
///
/// The format is `v1 began=120 out=40 forwarded=30 dead_lettered=2`: a version, then words `key=value` in any order.
/// Unknown words are kept and written again.
package struct CommitMetadata: Hashable, Sendable {
    package var tally: StageTally
    /// The hash of the last settings that have accepted a record.
    ///
    /// `nil` if no settings have, or if the stage does not depend on settings.
    package var acceptedSettings: String?
    /// The head of the partition's chain of dead letters, which is its newest digest.
    ///
    /// `nil` before the first dead letter.
    package var chainHead: SHA256Digest?
    /// The ID of the cluster whose offsets the tally counts.
    ///
    /// `nil` in commits of earlier versions.
    package var cluster: String?
    /// A person's statement about the offsets before the tally.
    ///
    /// `nil` without a statement.
    package var statement: AccountStatement?
    /// The other words, by key; neither keys nor values contain spaces or equals signs.
    package var others: [String: String]

    /// Maximum bytes; a broker accepts 4,096 characters, half of which are reserved for later additions.
    package static let bytesMax = 2_048
    private static let readBytesMax = 4_096
    private static let acceptedSettingsBytesMax = 64
    private static let clusterBytesMax = 64

    package init(
        tally: StageTally, acceptedSettings: String? = nil, chainHead: SHA256Digest? = nil, cluster: String? = nil,
        statement: AccountStatement? = nil, others: [String: String] = [:]
    ) {
        self.tally = tally
        self.acceptedSettings = acceptedSettings
        self.chainHead = chainHead
        self.cluster = cluster
        self.statement = statement
        self.others = others
    }

    /// Reads the text of a commit.
    ///
    /// `nil` if the text has another form or version.
    ///
    /// A program that may commit for the group may write any text. If a known word is out of bounds, the text is not
    /// read: the counts then restart, which is logged.
    ///
    /// - Parameters:
    ///   - dispositions: the dispositions that the stage counts, which determine the words that are counts.
    ///   - wanted: the cluster of the commit: a text that was copied from another cluster is not read, because its
    ///     tally counts other records; `nil` accepts any cluster.
    package init?(_ text: String, counting dispositions: [Disposition], in wanted: String? = nil) {
        guard text.utf8.count <= Self.readBytesMax else { return nil }
        let words = text.split(separator: " ")
        guard words.first == "v1" else { return nil }
        var began: Int64?
        var forwarded: Int64 = 0
        var counts: [Disposition: Int64] = [:]
        acceptedSettings = nil
        chainHead = nil
        cluster = nil
        statement = nil
        others = [:]
        for word in words.dropFirst() {
            let pair = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let key = pair.first, let value = pair.last else { return nil }
            switch key {
            case "began":
                guard let number = Self.count(value) else { return nil }
                began = number
            case "out":
                guard let number = Self.count(value) else { return nil }
                forwarded = number
            case Self.acceptedKey:
                guard value.utf8.count <= Self.acceptedSettingsBytesMax else { return nil }
                acceptedSettings = String(value)
            case Self.chainKey:
                guard let digest = SHA256Digest(hex: String(value)) else { return nil }
                chainHead = digest
            case Self.clusterKey:
                guard value.utf8.count <= Self.clusterBytesMax else { return nil }
                cluster = String(value)
            case Self.statementKey:
                guard let read = AccountStatement(word: value) else { return nil }
                statement = read
            default:
                guard let disposition = dispositions.first(where: { $0.name == key }) else {
                    others[String(key)] = String(value)
                    continue
                }
                guard let number = Self.count(value) else { return nil }
                counts[disposition] = number
            }
        }
        guard let began else { return nil }
        if let cluster, let wanted = wanted.flatMap(Self.id), cluster != wanted { return nil }
        tally = StageTally(began: began, counts: counts, forwarded: forwarded)
    }

    /// Reads a count; counts are bounded like offsets, so that their sum cannot overflow.
    private static func count(_ text: Substring) -> Int64? {
        Int64(text).flatMap { KafkaBounds.offsets.contains($0) ? $0 : nil }
    }

    /// Returns the text if it is a cluster's ID.
    ///
    /// `nil` for addresses, which replace an ID if the brokers report none: addresses may change.
    private static func id(_ cluster: String) -> String? {
        let isWord = cluster.utf8.allSatisfy { $0 > 0x20 && !":=".utf8.contains($0) }
        return isWord && cluster.utf8.count <= clusterBytesMax ? cluster : nil
    }

    private static let acceptedKey: Substring = "accepted"
    private static let chainKey: Substring = "chain"
    private static let clusterKey: Substring = "cluster"
    private static let statementKey: Substring = "stated"

    package var text: String {
        var text = "v1 began=\(tally.began) out=\(tally.forwarded)"
        for (disposition, count) in tally.sortedCounts { text += " \(disposition.name)=\(count)" }
        if let acceptedSettings { text += " \(Self.acceptedKey)=\(acceptedSettings)" }
        if let chainHead { text += " \(Self.chainKey)=\(chainHead.hex)" }
        if let cluster = cluster.flatMap(Self.id) { text += " \(Self.clusterKey)=\(cluster)" }
        if let statement { text += " \(Self.statementKey)=\(statement.word)" }
        for (key, value) in others.sorted(by: { $0.key < $1.key }) {
            let word = " \(key)=\(value)"
            // Unknown words never displace known ones.
            guard text.utf8.count + word.utf8.count <= Self.bytesMax else { continue }
            text += word
        }
        precondition(text.utf8.count <= Self.bytesMax, "the commit metadata has outgrown its limit")
        return text
    }
}
