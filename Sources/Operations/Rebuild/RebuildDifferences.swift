import EntitleStage
import LinkStage

/// Where some purchases' rows are not what the facts say.
struct RebuildDifferences {
    var owners: [OwnerDifference] = []
    var rows: [RowDifference] = []

    var count: Int { owners.count + rows.count }

    var lines: [String] { owners.map(\.line) + rows.map(\.line) }

    var jsonLines: [String] { owners.map(\.json) + rows.map(\.json) }
}
