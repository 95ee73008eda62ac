import AppStore
import Entitlements
import JSON
import Operations
import Postgres
import TestSupport
import Traffic

/// A scenario with IDs, products, tokens and users of its own, so that many can share a database.
struct ApartScenario: Sendable {
    let scenario: Scenario
    private let number: Int

    init(_ scenario: Scenario, number: Int) {
        self.scenario = scenario
        self.number = number
    }

    private var prefix: String { "\(number)-" }

    /// Each grants the keys of the scenario's product, also where they are named by its ID.
    var products: [Product] {
        scenario.catalog.products.values.map { product in
            var product = product
            product.id = prefix + product.id
            return product
        }
    }

    var links: [DemoLink] {
        let links =
            scenario.links.userByToken.map { (DemoLink.Kind.accountToken, apart($0.canonical), $1) }
            + scenario.links.userByAppTransactionID.map { (.appTransactionID, prefix + $0, $1) }
            + scenario.links.userByOriginalTransactionID
            .map { (.originalTransactionID, prefix + $0, $1) }
        return [DemoApp.pro, .proSandbox].flatMap { app in
            links.map { kind, value, user in
                DemoLink(kind: kind, app: app, value: value, userID: prefix + user)
            }
        }
    }

    func isOfOwnUser(_ link: AccountLink) -> Bool {
        link.userID.hasPrefix(prefix)
    }

    func items(signedBy authority: CertificateAuthority) throws -> [DemoItem] {
        try scenario.observations.enumerated().map { index, observation in
            DemoItem(
                kind: .purchase,
                key: Array(prefix.utf8),
                value: try body(observation, index, authority)
            )
        }
    }
}

extension ApartScenario {
    private func body(
        _ observation: Observation,
        _ index: Int,
        _ authority: CertificateAuthority
    ) throws -> [UInt8] {
        let transaction = try observation.transaction.map { try authority.sign(payload($0)) }
        let renewal = try observation.renewalInfo.map {
            try authority.sign(payload($0, isRenewal: true))
        }
        guard let notification = observation.notification else {
            if let transaction, let renewal {
                return Body.subscriptionStatuses(
                    environment: observation.environment.rawValue,
                    bundleID: DemoApp.pro.bundleID,
                    originalTransactionID: prefix + (observation.originalTransactionID ?? ""),
                    transaction: transaction,
                    renewal: renewal
                )
            }
            return transaction.map { Body.transaction($0) } ?? renewal ?? []
        }
        var data = NotificationDataFields()
        data.environment = observation.environment.rawValue
        data.signedTransactionInfo = transaction.map { String(decoding: $0, as: UTF8.self) }
        data.signedRenewalInfo = renewal.map { String(decoding: $0, as: UTF8.self) }
        var fields = NotificationFields()
        fields.notificationType = notification.type
        fields.subtype = notification.subtype
        fields.notificationUUID = "\(prefix)\(index)"
        fields.signedDate = notification.signedDate.milliseconds
        fields.data = data.json
        return Body.notification(try authority.sign(fields.json))
    }

    /// The payload with what has to be apart put apart.
    ///
    /// A renewal info is told by its status from other payloads, so Apple never leaves it out.
    private func payload(_ payload: JSONValue, isRenewal: Bool = false) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for (key, value) in payload.members {
                let name = key.string ?? ""
                writer.key(name)
                if let text = value.string, let apart = apart(name, text) {
                    writer.string(apart)
                } else {
                    writer.raw(value.rawBytes)
                }
            }
            if isRenewal, payload["autoRenewStatus"] == nil {
                writer.key("autoRenewStatus")
                writer.int(1)
            }
        }
        return writer.bytes
    }

    private func apart(_ name: String, _ text: String) -> String? {
        switch name {
        case "transactionId", "originalTransactionId", "productId", "autoRenewProductId",
            "appTransactionId":
            prefix + text
        case "appAccountToken": apart(text)
        case "bundleId": DemoApp.pro.bundleID
        default: nil
        }
    }

    /// A token of the same tail.
    private func apart(_ token: String) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 8 - digits.count) + digits + token.dropFirst(8)
    }
}

extension ApartScenario {
    /// Whether the tables hold of the scenario's users what its file says, and nothing else.
    func isAnswered(on connection: PostgresConnection) async throws -> Bool {
        let entitlements = try await entitlements(connection)
        let balances = try await balances(connection)
        return entitlements == scenario.entitlements && balances == scenario.balances
    }

    private func entitlements(
        _ connection: PostgresConnection
    ) async throws -> [String: [String: PeriodSet]] {
        let rows = try await connection.query(
            """
            SELECT user_id, environment, entitlement_key, range_agg(span)
            FROM entitlements CROSS JOIN LATERAL unnest(periods) AS span
            WHERE starts_with(user_id, $1) GROUP BY 1, 2, 3
            """,
            [.text(prefix)]
        )
        var entitlements: [String: [String: PeriodSet]] = [:]
        for row in rows {
            let key = place(row.text(1)) + withoutPrefix(row.text(2))
            let periods = row.periods(3).map { period in
                Period(
                    start: Timestamp(milliseconds: period.startMilliseconds),
                    end: period.endMilliseconds.map { Timestamp(milliseconds: $0) }
                )
            }
            entitlements[withoutPrefix(row.text(0)), default: [:]][key] = PeriodSet(periods)
        }
        return entitlements
    }

    private func balances(
        _ connection: PostgresConnection
    ) async throws -> [String: [String: Int64]] {
        let rows = try await connection.query(
            """
            SELECT user_id, environment, currency, sum(amount - taken_back)::int8
            FROM ledger WHERE starts_with(user_id, $1) GROUP BY 1, 2, 3
            """,
            [.text(prefix)]
        )
        var balances: [String: [String: Int64]] = [:]
        for row in rows {
            let key = place(row.text(1)) + row.text(2)
            balances[withoutPrefix(row.text(0)), default: [:]][key] = row.int8(3)
        }
        return balances
    }

    private func place(_ environment: String) -> String {
        environment == "Production" ? "" : environment + "/"
    }

    /// An unknown product grants a key that is named by its ID.
    private func withoutPrefix(_ text: String) -> String {
        text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
    }
}
