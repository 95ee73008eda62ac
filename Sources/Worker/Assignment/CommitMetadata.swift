package import OpenSSL

/// The text that travels with a committed offset: the partition's tally, and what later versions or
/// other parts add.
///
/// `v1 began=120 out=40 forwarded=30 dead_lettered=2`: a version, then words `key=value` in any
/// order. Words that this version does not know are kept and written again.
package struct CommitMetadata: Hashable, Sendable {
    package var tally: StageTally
    /// The hash of the settings that have last accepted a record; nil where none have, or where
    /// the stage does not depend on them.
    package var acceptedSettings: String?
    /// The head of the partition's chain of dead letters, its newest digest; nil before the first.
    package var chainHead: SHA256Digest?
    /// The other words, by key; neither keys nor values hold spaces or equals signs.
    package var others: [String: String]

    /// A broker accepts 4,096 characters; half of them are left for later additions.
    package static let bytesMax = 2_048

    package init(
        tally: StageTally,
        acceptedSettings: String? = nil,
        chainHead: SHA256Digest? = nil,
        others: [String: String] = [:]
    ) {
        self.tally = tally
        self.acceptedSettings = acceptedSettings
        self.chainHead = chainHead
        self.others = others
    }

    /// Reads what a commit carried; nil where it is not such a text, or of another version.
    ///
    /// - Parameter dispositions: what the stage counts, and so which words are counts.
    package init?(_ text: String, counting dispositions: [Disposition]) {
        let words = text.split(separator: " ")
        guard words.first == "v1" else { return nil }
        var began: Int64?
        var forwarded: Int64 = 0
        var counts: [Disposition: Int64] = [:]
        var acceptedSettings: String?
        var chainHead: SHA256Digest?
        var others: [String: String] = [:]
        for word in words.dropFirst() {
            let pair = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let key = pair.first, let value = pair.last else { return nil }
            let number = Int64(value)
            if key == "began" {
                began = number
            } else if key == "out", let number {
                forwarded = number
            } else if let disposition = dispositions.first(where: { $0.name == key }), let number {
                counts[disposition] = number
            } else if key == Self.acceptedKey {
                acceptedSettings = String(value)
            } else if key == Self.chainKey, let digest = SHA256Digest(hex: String(value)) {
                chainHead = digest
            } else {
                others[String(key)] = String(value)
            }
        }
        guard let began else { return nil }
        tally = StageTally(began: began, counts: counts, forwarded: forwarded)
        self.acceptedSettings = acceptedSettings
        self.chainHead = chainHead
        self.others = others
    }

    private static let acceptedKey = "accepted"
    private static let chainKey = "chain"

    package var text: String {
        var text = "v1 began=\(tally.began) out=\(tally.forwarded)"
        for (disposition, count) in tally.sortedCounts {
            text += " \(disposition.name)=\(count)"
        }
        if let acceptedSettings {
            text += " \(Self.acceptedKey)=\(acceptedSettings)"
        }
        if let chainHead {
            text += " \(Self.chainKey)=\(chainHead.hex)"
        }
        for (key, value) in others.sorted(by: { $0.key < $1.key }) {
            let word = " \(key)=\(value)"
            // Words of others never crowd out our own.
            guard text.utf8.count + word.utf8.count <= Self.bytesMax else { continue }
            text += word
        }
        precondition(text.utf8.count <= Self.bytesMax, "the commit metadata has outgrown its limit")
        return text
    }
}
