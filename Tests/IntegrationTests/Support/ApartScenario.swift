import AppStore
import Entitlements
import JSON
import Operations
import Postgres
import Records
import TestSupport
import Simulation
import Store

/// A scenario with IDs, products, tokens and users of its own, so that many can share a database.
struct ApartScenario: Sendable {
    let scenario: Scenario
    /// A number that distinguishes the scenario; 0 changes nothing.
    private let number: Int

    /// - Parameter number: its own among those that run together. If a content hash decides, a
    ///   multiple of a thousand is added, so that the same content has the greater one.
    init(_ scenario: Scenario, number: Int) throws {
        for offset in 0..<1_000 {
            let candidate = ApartScenario(scenario, exactly: number + 1_000 * offset)
            if try candidate.keepsTies() {
                self = candidate
                return
            }
        }
        throw ScenarioApartness(name: scenario.name)
    }

    /// An unchanged scenario for a database of its own.
    init(alone scenario: Scenario) { self.init(scenario, exactly: 0) }

    private init(_ scenario: Scenario, exactly number: Int) {
        self.scenario = scenario
        self.number = number
    }

    private var prefix: String { number == 0 ? "" : "\(number)-" }

    /// Products that each grant the keys of the scenario's product, even if those are named by its
    /// ID.
    var products: [Product] {
        scenario.catalog.products.values.map { product in
            var product = product
            product.id = "\(prefix)\(product.id)"
            return product
        }
    }

    var links: [DemoLink] {
        let links =
            scenario.links.userByToken.map { (DemoLink.Kind.accountToken, apart($0.canonical), $1) }
            + scenario.links.userByAppTransactionID.map { (.appTransactionID, "\(prefix)\($0)", $1) }
            + scenario.links.userByOriginalTransactionID.map { (.originalTransactionID, "\(prefix)\($0)", $1) }
        return [DemoApp.pro, .proSandbox].flatMap { app in
            links.map { kind, value, user in DemoLink(kind: kind, app: app, value: value, userID: "\(prefix)\(user)") }
        }
    }

    func isOfOwnUser(_ link: AccountLink) -> Bool { link.userID.text.hasPrefix(prefix) }

    func items(signedBy signers: DemoSigners) throws -> [DemoItem] {
        let bodies = ScenarioBodies(app: .pro, signers: signers, renaming: apart)
        return try scenario.events.enumerated().map { index, event in
            DemoItem(
                kind: .purchase, key: Array(prefix.utf8),
                value: try bodies.body(of: event, notificationUUID: "\(prefix)\(index)"),
                headers: event.json["userID"]?.identifier.map { user in
                    [DemoItem.Header(name: "user-id", value: Array("\(prefix)\(user)".utf8))]
                } ?? [])
        }
    }

    private func apart(_ name: String, _ text: String) -> String? {
        switch name {
        case "transactionId", "originalTransactionId", "productId", "autoRenewProductId", "appTransactionId", "SKU":
            prefix + text
        case "appAccountToken": apart(text)
        case "bundleId": DemoApp.pro.bundleID
        default: nil
        }
    }

    /// A token of the same tail; the placeholder stays one.
    private func apart(_ token: String) -> String {
        guard number > 0, !AccountToken.isPlaceholder(token) else { return token }
        let digits = String(number)
        return String(repeating: "0", count: 8 - digits.count) + digits + token.dropFirst(8)
    }
}

extension ApartScenario {
    /// Whether of two contents with the same date the same one has the greater hash as in the file.
    private func keepsTies() throws -> Bool {
        var tied: [String: [(before: Revision, after: Revision)]] = [:]
        for observation in scenario.observations {
            guard let transaction = try observation.json(.transaction), let date = observation.verification?.signedDate
            else { continue }
            let id = transaction["transactionId"]?.string ?? ""
            let apart = try JSONDocument(parsing: ScenarioBodies.payload(transaction, renaming: apart)).root
            tied["\(observation.environment.rawValue) \(id) \(date)", default: []].append(
                (
                    Revision(signedDate: date, contentHash: ContentHash.of(transaction)),
                    Revision(signedDate: date, contentHash: ContentHash.of(apart))
                ))
        }
        return tied.values.allSatisfy { revisions in
            revisions.allSatisfy { one in revisions.allSatisfy { ($0.before < one.before) == ($0.after < one.after) } }
        }
    }
}

/// An error if no number distinguishes a scenario and lets it end as its file says.
struct ScenarioApartness: Error { let name: String }

extension ApartScenario {
    /// Whether the tables hold what the scenario's file says about its users, and nothing else.
    func isAnswered(on connection: PostgresConnection) async throws -> Bool {
        let entitlements = try await entitlements(connection)
        let balances = try await balances(connection)
        return entitlements == scenario.entitlements && balances == scenario.balances
    }

    private func entitlements(_ connection: PostgresConnection) async throws -> [Identifier: [Identifier: PeriodSet]] {
        let rows = try await connection.query(
            """
            SELECT user_id, environment, entitlement_key, range_agg(span)
            FROM entitlements CROSS JOIN LATERAL unnest(periods) AS span
            WHERE starts_with(user_id, $1) GROUP BY 1, 2, 3
            """, [.text(prefix)])
        var entitlements: [Identifier: [Identifier: PeriodSet]] = [:]
        for row in rows {
            let key: Identifier = "\(place(row.text(1)))\(withoutPrefix(row.text(2)))"
            let periods = row.periods(3).map { period in
                Period(
                    start: Timestamp(milliseconds: period.startMilliseconds),
                    end: period.endMilliseconds.map { Timestamp(milliseconds: $0) })
            }
            entitlements[Identifier(withoutPrefix(row.text(0))), default: [:]][key] = PeriodSet(periods)
        }
        return entitlements
    }

    private func balances(_ connection: PostgresConnection) async throws -> [Identifier: [Identifier: Int64]] {
        let rows = try await connection.query(
            """
            SELECT user_id, environment, currency, sum(amount - taken_back)::int8
            FROM ledger WHERE starts_with(user_id, $1) GROUP BY 1, 2, 3
            """, [.text(prefix)])
        var balances: [Identifier: [Identifier: Int64]] = [:]
        for row in rows {
            let key: Identifier = "\(place(row.text(1)))\(row.text(2))"
            balances[Identifier(withoutPrefix(row.text(0))), default: [:]][key] = row.int8(3)
        }
        return balances
    }

    private func place(_ environment: String) -> String { environment == "Production" ? "" : environment + "/" }

    /// An unknown product grants a key that is named by its ID.
    private func withoutPrefix(_ text: String) -> String {
        text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
    }
}
