import AppStore
import JSON
import Store
import Testing

@testable import RecoveryStage

/// The records that Apple's answers become.
@Suite struct RecoveredBodyTests {
    private static let request = RecoveryRequestTable.Request(app: RecoveryRig.app, kind: .transactions, subject: "1")

    private static func values(_ body: String) throws -> [String] {
        try RecoveredBody.parts(of: Array(body.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a small answer stays as it came`() throws {
        for body in [
            #"{"revision":"r","hasMore":false, "signedTransactions":["a","b"]}"#,
            #"{"data":[{"lastTransactions":[{"status":1}]}], "bundleId":"b"}"#, #"{"other":1}"#,
        ] { #expect(try Self.values(body) == [body]) }
    }

    @Test(arguments: [
        #"{"status":1}"#, #"{"status":1,"signedTransactions":[]}"#, #"{"data":[]}"#,
        #"{"revision":"r","hasMore":false,"signedTransactions":[]}"#, #"{"data":[{"lastTransactions":[]}]}"#,
    ]) func `an answer without an item becomes no body`(body: String) throws { #expect(try Self.values(body) == []) }

    @Test func `a large history is split into bodies that are accepted`() throws {
        let item = "\"\(String(repeating: "x", count: 6_000))\""
        let items = Array(repeating: item, count: 230).joined(separator: ",")
        let values = try Self.values(#"{"hasMore":false,"signedTransactions":[\#(items)]}"#)
        let counts = try values.map { try JSONDocument(parsing: Array($0.utf8)).root["signedTransactions"]?.count ?? 0 }
        #expect(counts.reduce(0, +) == 230)
        #expect(values.allSatisfy { $0.utf8.count <= RecoveredBody.bytesMax + 100 })
        #expect(counts.allSatisfy { $0 > 0 && $0 <= RecoveredBody.itemsMax })
    }

    @Test func `many statuses are split, each with its transaction and renewal info`() throws {
        let status = #"{"status":1,"signedTransactionInfo":"t","signedRenewalInfo":"r"}"#
        let group = #"{"lastTransactions":["# + Array(repeating: status, count: 150).joined(separator: ",") + "]}"
        let values = try Self.values(#"{"data":[\#(group),\#(group)]}"#)
        let counts = try values.map { value in
            try JSONDocument(parsing: Array(value.utf8)).root["data"]?.elements.reduce(0) {
                $0 + ($1["lastTransactions"]?.count ?? 0)
            } ?? 0
        }
        #expect(counts == [100, 50, 100, 50])
    }

    @Test func `an answer that is no JSON is refused`() {
        #expect(throws: JSONError.self) { try RecoveredBody.parts(of: Array("{".utf8)) }
    }

    @Test(arguments: ["Production/a-b/1", "Sandbox/é/x-y", "Production//1", "Production/a/b/1"])
    func `a correlation ID reads back as its notification`(text: String) throws {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let id = NotificationID(
            environment: Environment(rawValue: String(parts[0])),
            uuid: Identifier(parts[1..<(parts.count - 1)].joined(separator: "/")), nonce: String(parts[parts.count - 1])
        )
        #expect(NotificationID(correlationID: id.correlationID) == id)
    }

    @Test(arguments: [
        "", "recovery", "recovery/", "recovery/Production", "recovery/Production/1", "other/Production/1/2", "8c1f0f6e",
    ]) func `another correlation ID is no notification's`(text: String) {
        #expect(NotificationID(correlationID: Array(text.utf8)) == nil)
    }
}
