import AppStore
import Foundation
import Testing

@testable import Entitlements

struct CatalogTests {
    @Test func `all kinds of products are read`() throws {
        let catalog = try Self.catalog(
            """
            {"products":{
              "pro":{"type":"auto-renewable","entitlements":["pro","plus"],"group":"g","level":1},
              "life":{"type":"non-consumable"},
              "season":{"type":"non-renewing","entitlements":["season"],
                        "duration":[{"period":"P3M"},{"period":"P1M","from":"2026-03-01"}]},
              "coins":{"type":"consumable",
                       "credits":{"coins":[{"amount":100},{"amount":0,"from":"2026-05-01"}]}}}}
            """)
        #expect(catalog["pro"]?.type == .autoRenewable)
        #expect(catalog["pro"]?.entitlementKeys == ["pro", "plus"])
        #expect(catalog["pro"]?.subscriptionGroup == "g")
        #expect(catalog["pro"]?.level == 1)
        #expect(catalog.entitlementKeys(of: "life") == ["life"])
        #expect(catalog.entitlementKeys(of: "nobody.knows") == ["nobody.knows"])
        let durations = catalog["season"]?.durations ?? []
        #expect(durations.value(at: Sample.date("2026-02-28"))?.months == 3)
        #expect(durations.value(at: Sample.date("2026-03-01"))?.months == 1)
        let coins = catalog["coins"]?.credits["coins"] ?? []
        #expect(coins.value(at: Sample.date("2026-04-30")) == 100)
        #expect(coins.value(at: Sample.date("2026-05-01")) == 0)
    }

    @Test func `preferences for refund requests are read in their order, and written as read`() throws {
        let catalog = try Self.catalog(
            """
            {"products":{
              "life":{"type":"non-consumable","refundPreference":"none"},
              "coins":{"type":"consumable","credits":{"coins":1},"refundPreference":[
                {"prefer":"decline","consumedPercent":50,"refundsInYear":2},{"prefer":"grant_prorated"}]}}}
            """)
        #expect(catalog["life"]?.refundRules == [RefundRule(nil)])
        let rules = [RefundRule(.decline, consumedPercent: 50, refundsInYear: 2), RefundRule(.grantProrated)]
        #expect(catalog["coins"]?.refundRules == rules)
        #expect(try Catalog(json: catalog.json) == catalog)
    }

    @Test func `an amount that begins later does not apply before`() throws {
        let catalog = try Self.catalog(
            """
            {"products":{"c":{"type":"consumable",
              "credits":{"x":[{"amount":5,"from":"2026-05-01"}]}}}}
            """)
        #expect(catalog["c"]?.credits["x"]?.value(at: Sample.date("2026-04-30")) == nil)
    }

    @Test func `a product's problem is reported with its path`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "products.txt")
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.components(separatedBy: " => ")
            let error = #expect(throws: CatalogError.self, "\(line)") {
                try Self.catalog(#"{"products":{"a":\#(parts[0])}}"#)
            }
            #expect(error?.problems.map(\.path) == [parts[1]], "\(line)")
        }
    }

    @Test(arguments: [
        ("[]", ""), ("{", ""), ("{}", "products"), (#"{"products":{},"extra":1}"#, "extra"),
        (#"{"products":{"":{"type":"non-consumable"}}}"#, #"products[""]"#),
    ]) func `a problem of the file is reported with its path`(json: String, path: String) {
        #expect(
            performing: { try Self.catalog(json) },
            throws: { error in (error as? CatalogError)?.problems.map(\.path) == [path] })
    }

    @Test(arguments: [
        ("{\"products\":\n  {\"a\": {\"type\": \"x\"}}}", "line 2, column 18: products[\"a\"].type: "),
        ("{\"products\":\n  {\"a\":\n {\"level\": 1}}}", "line 3, column 2: products[\"a\"].type: "),
        ("{\"products\": {\"é\": 1}}", "line 1, column 20: products[\"é\"]: expected an object"),
        ("{\"products\": {},\n \"é\": 1}", "line 2, column 7: é: unknown here; expected "),
        ("{\"products\": {]", "line 1, column 15: not JSON, expected a value, a key "),
        ("{\"products\": {\n", "line 2, column 1: not JSON, expected more text: "),
    ]) func `a problem names its line and column and what was expected`(json: String, beginning: String) {
        #expect(performing: { try Self.catalog(json) }, throws: { "\($0)".hasPrefix(beginning) })
    }

    @Test func `all problems are reported at once`() {
        #expect(
            performing: { try Self.catalog(#"{"products":{"a":{"type":"x"},"b":{"type":"non-renewing"}},"c":1}"#) },
            throws: { error in
                let problems = (error as? CatalogError)?.problems ?? []
                return problems.map(\.path) == ["c", #"products["a"].type"#, #"products["b"].duration"#]
            })
    }

    /// Products with all members, so that each has many values.
    private static func products(_ count: Int) -> [Product] {
        (0..<count).map { number in
            Product(
                id: Identifier("product.\(number)"), type: .autoRenewable, entitlementKeys: ["a", "b"],
                subscriptionGroup: "plans", level: 1, isFamilyShareable: true)
        }
    }

    @Test func `a catalog may have more values than a stranger's body`() throws {
        let catalog = Catalog(Self.products(12_000))
        #expect(try StorableCatalog(catalog.json).catalog == catalog)
    }

    @Test func `a catalog has at most 100,000 products`() throws {
        func json(_ count: Int) -> [UInt8] {
            let products = (0..<count).map { #""\#($0)":{"type":"non-consumable"}"# }
            return Array("{\"products\":{\(products.joined(separator: ","))}}".utf8)
        }
        #expect(try Catalog(json: json(100_000)).products.count == 100_000)
        #expect(
            performing: { try Catalog(json: json(100_001)) },
            throws: { "\($0)".contains("100001 products, more than 100000") })
    }

    @Test func `a catalog has at most 16 MiB`() throws {
        let empty = #"{"products":{}}"#
        func padded(_ bytes: Int) -> [UInt8] {
            Array(empty.utf8) + Array(repeating: UInt8(ascii: " "), count: bytes - empty.utf8.count)
        }
        #expect(try Catalog(json: padded(16 << 20)).products.isEmpty)
        #expect(
            performing: { try Catalog(json: padded((16 << 20) + 1)) },
            throws: { "\($0)".contains("larger than 16 MiB") })
    }

    @Test(arguments: ["P", "P0D", "1M", "P1", "PM", "P1M1Y", "P1M1M", "P-1M", "P1.5M", "PT1H", "P101Y"])
    func `a text that is not a calendar period is refused`(text: String) {
        #expect(CalendarPeriod(iso8601: text) == nil)
    }

    @Test(arguments: [
        ("P1M", "2026-01-31", Int32(1), "2026-02-28T00:00:00Z"), ("P1M", "2024-01-31", 1, "2024-02-29T00:00:00Z"),
        ("P1M", "2026-01-31", 2, "2026-03-31T00:00:00Z"), ("P1Y", "2024-02-29", 1, "2025-02-28T00:00:00Z"),
        ("P1Y2M3W4D", "2026-01-01T12:00:00Z", 1, "2027-03-26T12:00:00Z"),
        ("P2W", "2026-12-25", 1, "2027-01-08T00:00:00Z"), ("P100Y", "2026-01-01", 100, "9999-12-31T23:59:59.999Z"),
        ("P100Y", "2026-01-01", Int32.max, "9999-12-31T23:59:59.999Z"),
        ("P36525D", "2026-01-01", Int32.max, "9999-12-31T23:59:59.999Z"),
        ("P1M", "1969-12-31T23:59:59.999Z", 1, "1970-01-31T23:59:59.999Z"),
    ]) func `a calendar period is added`(period: String, start: String, times: Int32, end: String) {
        let added = CalendarPeriod(iso8601: period)?.added(to: Sample.date(start), times: times)
        #expect(added?.description == end)
    }

    private static func catalog(_ json: String) throws -> Catalog { try Catalog(json: Array(json.utf8)) }
}
