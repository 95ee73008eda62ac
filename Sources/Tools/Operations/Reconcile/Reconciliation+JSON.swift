import AppStore
package import JSON
package import Records

extension Reconciliation: JSONRepresentable {
    package var json: JSONContent {
        ["is_balanced": isBalanced, "is_settled": isSettled, "problems": problems, "stages": stages, "topics": flows]
    }
}

extension StageAccount: JSONRepresentable {
    package var json: JSONContent {
        [
            "stage": stage.name, "group": group, "topic": topic, "settled": settled, "waiting": lag,
            "dispositions": stage.json(counts), "partitions": partitions.map { $0.json(of: stage) },
        ]
    }
}

extension PartitionAccount {
    /// Returns the JSON of a stage; the dispositions are null without a tally, because nothing is
    /// known of the records.
    fileprivate func json(of stage: StageDescription) -> JSONContent {
        [
            "partition": partition, "low": held.lowerBound, "end": held.upperBound, "committed": committed,
            "waiting": lag, "began": tally?.began, "stated": statement, "unaccounted": unaccounted,
            "dispositions": tally.map { stage.json($0.counts) },
        ]
    }
}

extension AccountStatement: JSONRepresentable {
    package var json: JSONContent { ["at": at, "by": by, "reason": reason] }
}

extension Flow: JSONRepresentable {
    package var json: JSONContent {
        [
            "topic": topic, "writers": writers.map(\.name), "given": given, "counted": counted,
            "is_counted_from_start": isCountedFromStart, "exact": exact,
        ]
    }
}

extension ExactCount: JSONRepresentable {
    package var json: JSONContent {
        [
            "writer": writer.name, "distinct": found, "repeated": repeated, "beyond": beyond, "former": former,
            "removed": removed,
        ]
    }
}

extension StageDescription {
    /// Returns the counts by the dispositions' names, in order.
    func json(_ counts: [Disposition: Int64]) -> JSONContent { .object(sorted(counts).map { ($0.name, .int($1)) }) }
}
