import AppStore
import Entitlements
import JSON
import Kafka
import Operations
import Postgres
import Records
import TestSupport
import Testing

/// The status of subscriptions in the feed, and in rows of a version that did not store it.
@Suite(.timeLimit(.minutes(10))) struct StatusFeedTests {
    private let worker: EntitleWorker
    private let url: String

    init() async throws {
        let options = try await StageDatabase.options()
        url = options.connectionString
        worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 8))
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
    }

    /// The members of a change that state the status, as text.
    private static func status(_ value: JSONValue) -> String {
        ["willRenew", "renewsTo", "isInBillingRetry", "priceIncrease", "expirationReason", "grace"].compactMap { name in
            value[name].map { "\(name) \(String(decoding: $0.rawBytes, as: UTF8.self))" }
        }.joined(separator: ", ")
    }

    private static func list(_ member: String, of value: JSONValue) -> [JSONValue] {
        value[member]?.elements.map(\.self) ?? []
    }

    @Test func `each change of the status is a change with the next version, a repetition makes no change`()
        async throws
    {
        let (off, on) = ("willRenew false", "willRenew true")
        let retry = #""isInBillingRetryPeriod":true"#
        let steps: [(Observation, String)] = [
            (try Signed.renewal("1", signed: 2), on), (try Signed.renewal("1", signed: 3, status: 0), off),
            (try Signed.renewal("1", signed: 4), on),
            (
                try Signed.renewal("1", signed: 5, members: #","autoRenewProductId":"basic","priceIncreaseStatus":0"#),
                #"\#(on), renewsTo "basic", priceIncrease "pending""#
            ),
            (
                try Signed.renewal("1", signed: 6, members: #","autoRenewProductId":"pro","priceIncreaseStatus":1"#),
                #"\#(on), priceIncrease "consented""#
            ),
            (
                try Signed.renewal("1", signed: 7, graceExpires: 2000, renewed: 1000, members: ",\(retry)"),
                #"\#(on), isInBillingRetry true, grace {"start":1000,"end":2000}"#
            ), (try Signed.renewal("1", signed: 8), on),
            (
                try Signed.renewal("1", signed: 10, status: 0, members: #","expirationIntent":1"#),
                #"\#(off), expirationReason "cancelled""#
            ),
            (
                try Signed.renewal("1", signed: 11, status: 0, members: #","expirationIntent":9"#),
                #"\#(off), expirationReason "9""#
            ), (try Signed.renewal("1", signed: 12), on),
        ]
        _ = try await worker.published()
        for (index, (observation, expected)) in steps.enumerated() {
            _ = try await worker.process([observation, observation])
            let published = try await worker.published()
            #expect(published.changes.map(\.version) == [Int64(index + 2)], "\(expected)")
            let held = published.states.last.map { Self.list("entitlements", of: $0.value) } ?? []
            #expect((published.changes.map(\.value) + held).map(Self.status) == [expected, expected])
            for topic in ["entitlements.changed", "entitlements.current"] {
                let values = published.records.filter { $0.topic == "storekit.\(topic)" }.compactMap(\.value)
                let verdict = try PublishedSchema.topics.validate(values, against: topic)
                #expect(verdict.isValid, "\(verdict.report)")
            }
        }
        // The same words signed again, and an older renewal info.
        _ = try await worker.process([
            try Signed.renewal("1", signed: 13), try Signed.renewal("1", signed: 3, status: 0),
        ])
        #expect(try await worker.published().isEmpty)
        #expect(try await worker.rows() == worker.rowsByHistory())
    }

    @Test func `a state lists the user's subscriptions where that is switched on, and as many as fit`() async throws {
        let listing = try await EntitleWorker(listsSubscriptions: true, on: worker.client)
        _ = try await listing.process([try Signed.renewal("1", signed: 2, status: 0)])
        let published = try await listing.published()
        let state = try #require(published.states.last?.value)
        let row = try #require(
            try await worker.client.query(
                "SELECT json_strip_nulls(row_to_json(known))::text FROM subscriptions AS known WHERE user_id = 'anna'"
            ).first)
        let listed = Self.list("subscriptions", of: state)
        #expect(listed.map { String(decoding: $0.rawBytes, as: UTF8.self) } == [row.text(0)])
        #expect(listed.first?["will_renew"]?.bool == false)
        #expect(state["omitted"] == nil)

        let ids = (2...102).map { String($0) }
        try await listing.own(
            Dictionary(
                uniqueKeysWithValues: ids.map { (Signed.key($0), Ownership(userID: "anna", rule: .accountToken)) }))
        _ = try await listing.process(ids.map { try Signed.transaction($0, signed: 3) })
        let many = try await listing.published()
        let last = try #require(many.states.last?.value)
        #expect(Self.list("subscriptions", of: last).count == 100)
        #expect(Self.list("entitlements", of: last).count == 102)
        #expect(last["omitted"]?["subscriptions"]?.bool == true && last["omitted"]?["entitlements"]?.int64 == 0)
        for states in [published, many] {
            let values = states.records.filter { $0.topic == "storekit.entitlements.current" }.compactMap(\.value)
            let verdict = try PublishedSchema.topics.validate(values, against: "entitlements.current")
            #expect(verdict.isValid, "\(verdict.report)")
        }
    }

    @Test func `rows without a status are no difference, and get it by a replacement or the next record`() async throws
    {
        let members = #","autoRenewProductId":"basic","priceIncreaseStatus":0"#
        _ = try await worker.process([try Signed.renewal("1", signed: 2, members: members)])
        let rows = try await worker.rows()
        for isReplaced in [true, false] {
            // The version before has written the rows so.
            _ = try await worker.client.query("UPDATE renewals SET price_increase_status = NULL")
            _ = try await worker.client.query(
                "UPDATE entitlements SET will_renew = NULL, renews_to = NULL, price_increase = NULL")
            let found = await PipelineTool.run(["plan", "--facts"], on: url)
            #expect(found.code == 0, "\(found.output)")
            if isReplaced {
                let replaced = await PipelineTool.run(["rebuild", "--replace"], on: url)
                #expect(replaced.output.contains("renews, next basic"), "\(replaced.output)")
            } else {
                _ = try await worker.process([try Signed.renewal("1", signed: 3, members: members + #","price":1"#)])
            }
            #expect(try await worker.rows() == rows, "\(isReplaced)")
        }
        _ = try await worker.client.query("UPDATE entitlements SET will_renew = false")
        #expect(await PipelineTool.run(["plan", "--facts"], on: url).code == 1)
    }
}
