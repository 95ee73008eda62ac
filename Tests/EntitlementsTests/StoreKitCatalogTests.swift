import AppStore
import Entitlements
import Foundation
import Testing

/// Catalogs from Xcode's `.storekit` files.
struct StoreKitCatalogTests {
    @Test func `products, groups with levels, family sharing and offers are read`() throws {
        let catalog = try Self.catalog(Self.file())
        #expect(catalog.products.count == 6)
        #expect(catalog["pro.lifetime"]?.type == .nonConsumable)
        #expect(catalog["pro.lifetime"]?.isFamilyShareable == true)
        #expect(catalog["coins"]?.type == .consumable)
        #expect(catalog["coins"]?.credits == [:])
        #expect(catalog["season"]?.type == .nonRenewing)
        #expect(catalog["season"]?.durations == [])
        #expect(catalog["pro.monthly"]?.subscriptionGroup == "Plans")
        #expect(catalog["pro.monthly"]?.level == 1)
        #expect(catalog["pro.monthly"]?.isFamilyShareable == true)
        #expect(catalog["pro.monthly"]?.introductoryOffer?.mode == .freeTrial)
        #expect(catalog["pro.monthly"]?.introductoryOffer?.period.days == 7)
        #expect(catalog["basic.monthly"]?.level == 2)
        #expect(catalog["basic.monthly"]?.introductoryOffer?.count == 3)
        #expect(catalog["basic.yearly"]?.introductoryOffer == nil)
        for id in catalog.products.keys where id != "coins" { #expect(catalog.entitlementKeys(of: id) == [id]) }
    }

    @Test func `the catalog survives writing in the product's own format`() throws {
        let catalog = try Self.catalog(Self.file())
        #expect(try Catalog(json: catalog.json) == catalog)
    }

    @Test func `any catalog is the same once written and read`() throws {
        let catalog = try Catalog(
            json: Array(
                """
                {"products":{
                  "pro":{"type":"auto-renewable","entitlements":["a","b"],"group":"g","level":2,
                         "introductoryOffer":{"mode":"pay-up-front","period":"P1Y2M3D"}},
                  "none":{"type":"non-consumable","entitlements":[]},
                  "season":{"type":"non-renewing",
                            "duration":[{"period":"P2W"},{"period":"P1M","from":"2026-03-01"}]},
                  "open":{"type":"non-renewing","duration":null,"familyShareable":true},
                  "coins":{"type":"consumable",
                           "credits":{"x":[{"amount":0,"from":"2026-05-01T10:00:00.500Z"}]}}}}
                """.utf8))
        #expect(try Catalog(json: catalog.json) == catalog)
        #expect(catalog["open"]?.durations == [])
    }

    @Test func `another catalog completes it`() throws {
        let completing = try Catalog(
            json: Array(#"{"products":{"season":{"type":"non-renewing","duration":"P3M"}}}"#.utf8))
        let completed = try Self.catalog(Self.file()).completed(by: completing)
        #expect(completed.products.count == 6)
        #expect(completed["season"]?.durations.first?.value.months == 3)
    }

    @Test func `all problems are reported at once, each with its path`() {
        let text = """
            {"products":[{"productID":"a","type":"Consumeable"},{"type":"Consumable"},
              {"productID":"b","type":"NonConsumable","familyShareable":"yes"}],
             "nonRenewingSubscriptions":{},
             "subscriptionGroups":[{"id":"","name":"","subscriptions":[
               {"productID":"b","type":"RecurringSubscription","groupNumber":0,
                "introductoryOffer":{"paymentMode":"gift","subscriptionPeriod":"7 days",
                                     "numberOfPeriods":0}}]}]}
            """
        #expect(
            performing: { try Self.catalog(text) },
            throws: { error in
                (error as? CatalogError)?.problems.map(\.path) == [
                    "products[0].type", "products[1].productID", "products[2].familyShareable",
                    "nonRenewingSubscriptions", "subscriptionGroups[0].name",
                    "subscriptionGroups[0].subscriptions[0].productID",
                    "subscriptionGroups[0].subscriptions[0].groupNumber",
                    "subscriptionGroups[0].subscriptions[0].introductoryOffer.paymentMode",
                    "subscriptionGroups[0].subscriptions[0].introductoryOffer.subscriptionPeriod",
                    "subscriptionGroups[0].subscriptions[0].introductoryOffer.numberOfPeriods",
                ]
            })
    }

    @Test func `the product's own format is not taken for Xcode's`() throws {
        let own = try Sample.json(#"{"products":{}}"#)
        #expect(!Catalog.isStoreKitConfiguration(own))
        #expect(Catalog.isStoreKitConfiguration(try Sample.json(Self.file())))
        #expect(Catalog.isStoreKitConfiguration(try Sample.json(#"{"products":[]}"#)))
    }

    @Test(arguments: ["P1M", "P1Y", "P7D", "P1Y2M10D", "P14D", "P100Y"]) func `a period is written as it is read`(
        text: String
    ) { #expect(CalendarPeriod(iso8601: text)?.iso8601 == text) }

    private static func catalog(_ text: String) throws -> Catalog {
        try Catalog(storeKitConfiguration: try Sample.json(text))
    }

    private static func file() throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        return try String(contentsOf: folder.appending(path: "Plans.storekit"), encoding: .utf8)
    }
}
