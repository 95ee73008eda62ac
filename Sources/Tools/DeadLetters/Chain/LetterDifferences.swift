import Kafka
import Records

/// The parts in which two copies of a dead letter differ.
enum LetterDifferences {
    /// The names of headers that differ, and `key` or `value` if these differ.
    ///
    /// Links are left out, because they differ whenever any other part does.
    static func names(_ letter: ConsumerRecord, _ other: ConsumerRecord) -> [String] {
        let (left, right) = (headers(letter), headers(other))
        var names = Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }.sorted()
        if letter.key != other.key { names.append("key") }
        if letter.value != other.value { names.append("value") }
        return names
    }

    private static func headers(_ record: ConsumerRecord) -> [String: [[UInt8]?]] {
        let links = [DeadLetterHeader.previous, DeadLetterHeader.chainSHA256]
        let compared = record.headers.filter { !links.contains($0.name) }
        return Dictionary(grouping: compared, by: \.name).mapValues { $0.map(\.value) }
    }
}

extension ChainReport {
    /// The positions of altered letters in the first findings, and of the chains' letters of the same IDs.
    var lettersToCompare: Set<RecordPosition> {
        var positions: Set<RecordPosition> = []
        for case .altered(let position, _, let how) in findings.prefix(Self.comparedMax) {
            if let original = how.original { positions.formUnion([position, original]) }
        }
        return positions
    }

    /// The positions that the first findings name.
    var positionsNamed: Set<RecordPosition> { Set(findings.prefix(Self.comparedMax).flatMap(\.positions)) }

    /// Adds to the findings how altered letters differ from the chains' letters.
    mutating func compare(_ records: [RecordPosition: ConsumerRecord]) {
        findings = findings.map { finding in
            guard case .altered(let position, let chain, var how) = finding,
                let original = how.original.flatMap({ records[$0] }), let letter = records[position]
            else { return finding }
            how.differences = LetterDifferences.names(letter, original)
            return .altered(position, chain, how)
        }
    }

    /// Maximum findings with compared letters, because each letter may hold megabytes.
    static let comparedMax = 100
}
