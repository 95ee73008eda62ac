import AppStore
package import Commands
import JSON
package import Postgres
package import Store

/// The application of a stored plan, and its progress.
package struct PlanState: Sendable {
    private let head: PlanTable.Head
    package let projection: CatalogProjection
    /// The progress while the version is projected.
    package let progress: CatalogProjection.Progress?

    package init(of head: PlanTable.Head, on connection: PostgresConnection) async throws {
        self.head = head
        // The end of a projection sets its last purchase back, so one snapshot shows both.
        (projection, progress) = try await connection.snapshot { connection in
            let projection = try await connection.run(CatalogProjection.read)[0]
            guard projection.target != nil, let version = head.appliedVersion, version > projection.version else {
                return (projection, nil)
            }
            return (projection, try await connection.run(CatalogProjection.progress)[0])
        }
    }

    /// Whether all rows are projected by the plan's catalog or a later one.
    package var isProjected: Bool { head.appliedVersion.map { $0 <= projection.version } ?? false }

    /// Describes the state in a phrase.
    ///
    /// - Parameter outcome: the comparison with what happened, once all rows are projected.
    package func text(_ outcome: String? = nil) -> String {
        guard let version = head.appliedVersion, let instant = head.appliedAt else { return "not applied" }
        var text = "applied as version \(version) at \(Timestamp(instant).toSecond) by \(head.appliedBy ?? "")"
        if isProjected {
            text += ", and projected" + (outcome.map { ": \($0)" } ?? "")
        } else if let progress, let target = projection.target {
            let share = "\(Quantity.grouped(progress.done)) of \(Quantity.counted(progress.total, "transaction"))"
            text += "; version \(target) is being projected, \(share) done"
        } else {
            text += "; entitle-worker has not begun to project it"
        }
        return version == projection.newest ? text : "\(text); version \(projection.newest) holds now"
    }
}

extension PlanTable.Head {
    /// The person who asked for it, or else the database's user.
    package var maker: String { requestedBy ?? plannedBy }

    /// The names of the inputs, such as `catalog` and `links`.
    package var inputs: [String] { input.root.members.compactMap { $0.key.string } }
}

extension PlanTable.Listed {
    package static let columns: [ReportColumn<Self>] = [
        .init("plan", \.head.number), .init("planned_at", \.head.plannedAt), .init("by", rank: 1, \.head.maker),
        .init("inputs") { $0.head.inputs.joined(separator: ", ") },
        .init("version", title: "against version", rank: 3, \.head.catalogVersion), .init("rows", \.rows),
        .init("losing_users", \.losingUsers), .init("applied_version", title: "applied as", \.head.appliedVersion),
        .init("reason", rank: 2, \.head.reason),
    ]
}
