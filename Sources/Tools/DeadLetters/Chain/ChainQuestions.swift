import OpenSSL

/// Letters of a chain that are not folded, because a verdict depends on each of them.
struct ChainQuestions: Sendable, Equatable {
    var digests: Set<SHA256Digest> = []
    var ids: Set<String> = []
    /// Offsets of source records.
    var offsets: Set<Int64> = []
    /// Ranges of offsets of source records, ascending and without overlaps.
    private(set) var ranges: [ClosedRange<Int64>] = []

    var count: Int { digests.count + ids.count + offsets.count + ranges.count }

    func contain(_ letter: ChainLetter) -> Bool {
        digests.contains(letter.digest) || ids.contains(letter.id) || offsets.contains(letter.sourceOffset)
            || range(at: letter.sourceOffset) != nil
    }

    /// Adds ranges of offsets; they may overlap.
    mutating func add(_ more: [ClosedRange<Int64>]) {
        guard !more.isEmpty else { return }
        let sorted = (ranges + more).sorted { $0.lowerBound < $1.lowerBound }
        ranges = []
        for range in sorted {
            guard let last = ranges.last, range.lowerBound <= last.upperBound else {
                ranges.append(range)
                continue
            }
            let upper = max(last.upperBound, range.upperBound)
            ranges[ranges.count - 1] = last.lowerBound...upper
        }
    }

    /// Adds questions; returns whether one of them is new.
    mutating func merge(_ more: ChainQuestions) -> Bool {
        let former = self
        digests.formUnion(more.digests)
        ids.formUnion(more.ids)
        offsets.formUnion(more.offsets)
        add(more.ranges)
        return self != former
    }

    private func range(at offset: Int64) -> ClosedRange<Int64>? {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < offset { low = middle + 1 } else { high = middle }
        }
        guard low < ranges.count, ranges[low].contains(offset) else { return nil }
        return ranges[low]
    }
}

extension ChainWalk {
    /// Letters inside of pieces on which the verdict may depend; none if nothing is folded.
    ///
    /// Two letters with the same link have the same source, because the link covers it. A copy of a
    /// folded letter therefore appears as pieces whose sources overlap.
    func questions() -> ChainQuestions {
        var questions = ChainQuestions()
        guard let lowest = pieces.lazy.filter(\.isFolded).map(\.first.sourceOffset).min() else { return questions }
        questions.ids = earlierEnds
        questions.digests.formUnion(ends.filter { byDigest[$0] == nil })
        let firsts = Dictionary(pieces.map { ($0.first.partition, $0.first.offset) }, uniquingKeysWith: { min($0, $1) })
        var ranges = overlaps() + piecesAcrossBeginning() + reordered
        for piece in byDigest.values {
            let isOnPath = onPath.contains(piece.digest)
            if let previous = piece.first.previous, byDigest[previous] == nil,
                !isOnPath || lowest < piece.first.sourceOffset || firsts[piece.first.partition] != piece.first.offset
                    || !mayBeCut(piece.first)
            {
                questions.digests.insert(previous)
            }
            if !isOnPath, piece.isFolded {
                ranges.append(piece.sources)
            } else if !isOnPath, standing[piece.last.id] == nil {
                questions.ids.insert(piece.last.id)
            }
        }
        for piece in pieces where piece.last.problem != nil {
            questions.digests.insert(piece.digest)
            questions.ids.insert(piece.last.id)
        }
        questions.add(ranges)
        return questions
    }

    /// Source offsets that two pieces share, if at least one of them is folded.
    private func overlaps() -> [ClosedRange<Int64>] {
        var overlaps: [ClosedRange<Int64>] = []
        var (reach, foldedReach) = (Int64.min, Int64.min)
        for piece in pieces.sorted(by: { $0.first.sourceOffset < $1.first.sourceOffset }) {
            let sources = piece.sources
            let former = piece.isFolded ? reach : foldedReach
            if former >= sources.lowerBound { overlaps.append(sources.lowerBound...min(sources.upperBound, former)) }
            reach = max(reach, sources.upperBound)
            if piece.isFolded { foldedReach = max(foldedReach, sources.upperBound) }
        }
        return overlaps
    }

    /// The sources of pieces that span the first record that the group has counted.
    ///
    /// Empty if the group has refused a record since.
    private func piecesAcrossBeginning() -> [ClosedRange<Int64>] {
        guard let began = beganWithoutLetter else { return [] }
        return pieces.filter { $0.isFolded && $0.sources.contains(began) }.map(\.sources)
    }
}

extension ChainPiece {
    /// The offsets of the piece's sources, from the first to the last.
    var sources: ClosedRange<Int64> { first.sourceOffset...max(first.sourceOffset, last.sourceOffset) }
}
