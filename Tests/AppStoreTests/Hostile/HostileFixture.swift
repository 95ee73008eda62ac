import AppStore
import Simulation

@testable import Benchmarks

/// The good bodies and the hostile ones that costs are counted for.
struct HostileFixture: Sendable {
    let configuration: VerifierConfiguration
    let good: [HostileCase.Yardstick: [UInt8]]
    let bodies: [HostileCase]

    private static let itemsCount = 100

    init() throws {
        let blueprint = try AuthorityBlueprint(name: "Good")
        let receiptsBlueprint = try AuthorityBlueprint.receipts(name: "Good")
        let authority = try CertificateAuthority(blueprint)
        let receipts = try CertificateAuthority(receiptsBlueprint)
        let app = try ConfiguredApp(trusting: authority, receipts)
        configuration = VerifierConfiguration(apps: [app])
        let record = try authority.sign(BenchTransaction.payload(0))
        let items = try (0..<Self.itemsCount).map { try authority.sign(BenchTransaction.payload($0)) }
        let receipt = Body.receipt(try receipts.receiptText(Self.receiptFields))
        let response = Body.history(items)
        var small = Self.receiptFields
        small.records = Array(small.records.prefix(1))
        good = [
            .record: record, .newLeaf: record, .newChain: record, .response: response, .receipt: receipt,
            .notification: try Self.notification(authority, record),
            .smallReceipt: Body.receipt(try receipts.receiptText(small)),
            .largeReceipt: Body.receipt(try receipts.receiptText(Self.largeReceiptFields)),
        ]
        bodies =
            try Self.shapeless(response.count) + Self.filledShapes(response.count)
            + Self.unsignedParts(items, authority, response.count) + Self.tokens(authority) + [Self.infiniteKey()]
            + Self.searchedReceipts() + Self.wholes(authority) + Self.responses(items, authority, response.count)
            + Self.forgedChains(authority, blueprint) + Self.costlyTokens(authority, blueprint)
            + Self.receipts(receipts, receipt.count) + Self.largeReceipts(receipts)
            + Self.costlyReceipts(receipts, receiptsBlueprint)
    }

    static var receiptFields: ReceiptFields { receiptFields(itemsCount) }

    static var largeReceiptFields: ReceiptFields { receiptFields(VerifierLimits.standard.itemsMax) }

    private static func receiptFields(_ count: Int) -> ReceiptFields {
        var fields = ReceiptFields()
        fields.records = (0..<count).map { index in
            var record = ReceiptRecordFields()
            record.transactionID = BenchTransaction.id(index)
            return record
        }
        return fields
    }

    /// Bodies that are no JSON, no JWS and no receipt, or hardly one.
    private static func shapeless(_ count: Int) -> [HostileCase] {
        func filled(_ head: String, with text: String, _ tail: String = "") -> [UInt8] {
            let room = count - head.utf8.count - tail.utf8.count
            let times = room / text.utf8.count
            return Array((head + String(repeating: text, count: times) + tail).utf8)
        }
        let keys = (0..<count / 14).map { "\"k\($0)\":0" }.joined(separator: ",")
        let bodyBytesMax = VerifierLimits.standard.bodyBytesMax
        let tooLarge = [UInt8](repeating: UInt8(ascii: "{"), count: bodyBytesMax + 1)
        let head = #"{"signedPayload":""#
        let numbers = filled(#"{"signedTransactions":["#, with: "1,", "1]}")
        return HostileCase.all(
            by: .response,
            [
                ("larger than allowed", tooLarge, .payloadTooLarge),
                ("no known shape", filled("?", with: "A"), .bodyUnrecognized),
                ("arrays in arrays", filled("", with: "["), .envelopeMalformed),
                ("objects in objects", filled("", with: #"{"a":"#), .envelopeMalformed),
                ("one long string", filled(head, with: "A", #""}"#), .jwsMalformed),
                ("escapes", filled(head, with: #"\u0041"#, #""}"#), .jwsMalformed),
                ("many numbers", numbers, .envelopeMalformed),
                ("many keys", Array("{\(keys)}".utf8), .bodyUnrecognized),
                ("the last key doubled", Array("{\(keys),\"k0\":0}".utf8), .envelopeMalformed),
                ("dots", filled("eyJ", with: "."), .jwsMalformed), ("no dot", filled("eyJ", with: "A"), .jwsMalformed),
                ("a header without end", filled("eyJ", with: "A", ".A.A"), .jwsMalformed),
            ])
    }
}
