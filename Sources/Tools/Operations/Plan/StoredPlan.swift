import AppStore
import Commands
import Entitlements
import JSON
import OpenSSL
import Postgres
import Settings
import Store

/// The number and the hash of the links that were planned.
struct PlannedLinks {
    private(set) var count = 0
    private(set) var sha256 = SHA256.digest([])

    mutating func add(_ links: [AccountLink]) {
        count += links.count
        let lines = links.map { "\($0.kind.rawValue),\($0.key),\($0.userID),\($0.environment),\($0.bundleID)\n" }
        sha256 = SHA256.digest(sha256.bytes + Array(lines.joined().utf8))
    }
}

extension Planning {
    /// The inputs of the plan, with a member for each.
    func input(_ report: PlanReport) -> JSONContent {
        var members: [(name: String, value: JSONContent)] = []
        if let catalog { members.append(("catalog", ["products": catalog.products.count])) }
        if let policy { members.append(("policy", policy.rawValue.json)) }
        if forgotten != nil { members.append(("forget", ["users": 1])) }
        if links != nil { members.append(("links", ["count": report.links.count, "sha256": report.links.sha256.hex])) }
        return .object(members)
    }

    /// Plans, and stores the plan unless its catalog is in force already.
    ///
    /// - Parameter content: the bytes of the catalog.
    func store(_ content: StorableCatalog?, _ context: OperatorContext) async throws -> PlanReport {
        let (by, reason) = try context.signature()
        var report = try await run(context)
        guard !report.isInForce else { return report }
        let plan = PlanTable.New(
            plannedAt: report.now, requestedBy: by, reason: reason, catalogVersion: report.force.version,
            catalog: content.map { JSONText($0.bytes) }, input: JSONText(input(report).bytes),
            result: JSONText(report.result.bytes))
        do { report.stored = try await context.withDatabase { try await $0.run(PlanTable.add, plan)[0] } } catch let
            error as PostgresError where Self.isRefusal(error)
        { context.console.note("the plan is not stored, so it has no number: \(error)") }
        return report
    }

    /// Whether the plan cannot be stored: by this role, at a server that is read alone, or because it is too large.
    private static func isRefusal(_ error: PostgresError) -> Bool {
        [.insufficientPrivilege, .readOnlyTransaction].contains(error.sqlState) || error.sqlState?.errorClass == "23"
    }
}

extension OperatorContext {
    /// The person who asks for it, and the reason.
    func signature() throws -> (by: String?, reason: String?) {
        (
            try arguments.value("by", as: .string(bytes: 1...255)),
            try arguments.value("reason", as: .string(bytes: 1...2_000))
        )
    }
}

extension PlanReport {
    /// Whether a plan of the catalog alone changes nothing, because it is in force.
    var isInForce: Bool { !hasOwners && force.version > 0 && force.catalog == catalog }

    /// Counts the users in the rows that the session has joined.
    mutating func count(on connection: PostgresConnection) async throws {
        users = Array(try await connection.run(PlanTables.users, instants, deadline: Planning.countDeadline))
        losingCount = try await connection.run(PlanTables.losingCount, now, deadline: Planning.countDeadline)[0]
    }

    /// Counts the users that a catalog version has changed, from and at the instants of its plan.
    static func happened(by version: Int64, as plan: PlanTable.Stored, on connection: PostgresConnection) async throws
        -> PlanReport
    {
        try await PlanTables.create(on: connection)
        return try await connection.snapshot { connection in
            let force = try await CatalogInForce(on: connection)
            var report = PlanReport(catalog: force.catalog, force: force, now: plan.head.plannedAt)
            report.instants = plan.instants
            report.entitlementCount = try await connection.run(
                PlanTables.happened, version, deadline: Planning.countDeadline)[0]
            _ = try await connection.run(PlanTables.join, deadline: Planning.countDeadline)
            try await report.count(on: connection)
            return report
        }
    }
}

extension PlanTable.Stored {
    static func read(_ number: Int64, on connection: PostgresConnection) async throws -> PlanTable.Stored {
        guard let plan = try await connection.run(PlanTable.read, number).first else {
            throw CommandError(ExitCode.negative, "no plan \(number) is stored")
        }
        return plan
    }

    /// The instants at which users were counted.
    var instants: [StoredTime] {
        result.root["users"]?.elements.compactMap { users in
            (try? SettingKind.instant.read(.text(users["at"]?.string ?? ""))).map { StoredTime($0) }
        } ?? []
    }
}

/// A number of a plan, and the same number of a later one or of what happened.
struct PlanNumber {
    /// The kind of the number, such as `keys lost`.
    let what: String
    /// The names to which the number belongs, such as the environment, the key and the instant.
    let of: String
    let planned: Int64
    let later: Int64

    /// Members that tell how a plan was computed, not what it does.
    private static let circumstances: Set<Identifier> = ["version", "transactions", "purchases", "projecting_seconds"]

    /// Members that the history of changes tells too.
    static let historical: Set<Identifier> = ["entitlements", "losing_users", "users", "keys"]

    /// Pairs the whole numbers of two results; a number that one lacks is 0 there.
    ///
    /// - Parameter members: the members to compare; `nil` for all.
    static func pairs(_ planned: JSONValue, _ later: JSONValue, of members: Set<Identifier>? = nil) -> [PlanNumber] {
        let (planned, later) = (numbers(planned, members), numbers(later, members))
        let values = Dictionary(planned.map { ($0.name, $0.value) }) { first, _ in first }
        let laterValues = Dictionary(later.map { ($0.name, $0.value) }) { first, _ in first }
        let names = planned.map(\.name) + later.map(\.name).filter { values[$0] == nil }
        return names.map { name in
            PlanNumber(what: name[0].text, of: name[1].text, planned: values[name] ?? 0, later: laterValues[name] ?? 0)
        }.filter { $0.planned != 0 || $0.later != 0 }
    }

    private static func numbers(_ result: JSONValue, _ members: Set<Identifier>?) -> [(
        name: [Identifier], value: Int64
    )] {
        result.members.flatMap { member -> [(name: [Identifier], value: Int64)] in
            let name = Identifier(member.key.string ?? "")
            guard members?.contains(name) ?? !circumstances.contains(name) else { return [] }
            if let number = member.value.int64 { return [([name, ""], number)] }
            return member.value.elements.flatMap { element in
                let of = Identifier(element.members.compactMap { $0.value.string }.joined(separator: " "))
                return element.members.compactMap { part in
                    part.value.int64.map { ([Identifier("\(name) \(part.key.string ?? "")"), of], $0) }
                }
            }
        }
    }

    /// Whether the later number differs by more than a share of the planned one.
    func differs(byMoreThan percent: Int) -> Bool {
        abs(Double(later) - Double(planned)) * 100 > Double(max(planned, 1)) * Double(percent)
    }

    /// - Parameter title: the heading of the later number.
    static func columns(_ title: String) -> [ReportColumn<PlanNumber>] {
        [.init("what", \.what), .init("of", \.of), .init("planned", \.planned), .init(title, \.later)]
    }
}
