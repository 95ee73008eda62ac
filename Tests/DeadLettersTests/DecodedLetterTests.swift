import AppStore
import JSON
import Records
import Simulation
import Testing

@testable import DeadLetters

/// The decoded tokens and receipts of a dead letter.
@Suite struct DecodedLetterTests {
    private static let account = "5f2a1c34-0000-4000-8000-00000000abcd"

    private let authority: CertificateAuthority

    init() throws { authority = try CertificateAuthority() }

    private func transaction(_ id: String = "7") throws -> [UInt8] {
        try authority.sign(Array(#"{"transactionId":"\#(id)","appAccountToken":"\#(Self.account)","new":[1]}"#.utf8))
    }

    private func notification() throws -> [UInt8] {
        let inner = String(decoding: try transaction(), as: UTF8.self)
        return Body.notification(try authority.sign(Array(#"{"data":{"signedTransactionInfo":"\#(inner)"}}"#.utf8)))
    }

    private func shown(_ body: [UInt8], isRevealing: Bool = false) throws -> String {
        let letter = DeadLetterWriter(Sample.context()).letter(
            for: Sample.original(value: body), Sample.refusal, value: .original)
        let record = Sample.consumed(letter)
        return LetterDossier((try DeadLetter(decoding: record), record)).text(isRevealing: isRevealing)
    }

    @Test func `each shape's tokens are found at their paths`() throws {
        let jws = try transaction()
        let shapes: [([UInt8], [String])] = [
            (jws, ["body"]), (try notification(), ["signedPayload", "signedPayload.data.signedTransactionInfo"]),
            (Body.transaction(jws), ["signedTransaction"]),
            (Body.history([jws, jws]), ["signedTransactions[0]", "signedTransactions[1]"]),
            (Body.renewalInfo(jws), ["signedRenewalInfo"]),
            (Body.notificationHistory([jws]), ["notificationHistory[0].signedPayload"]),
        ]
        for (body, paths) in shapes {
            let parts = UnverifiedContents(of: body).parts
            #expect(parts.map { $0.text(isRevealing: false) } == paths)
            #expect(parts.allSatisfy { $0.header?["alg"]?.string == "ES256" })
            #expect(parts.last?.payload?["transactionId"]?.string == "7")
        }
    }

    @Test func `tokens, signatures and account tokens are left out unless requested`() throws {
        let jws = try transaction()
        let segments = String(decoding: jws, as: UTF8.self).split(separator: ".")
        let signature = try #require(segments.last)
        let text = try shown(try notification())
        #expect(text.contains(#""transactionId": "7""#))
        #expect(text.contains(#""appAccountToken": "<36 bytes hidden>""#))
        #expect(!text.contains(Self.account))
        let revealed = try shown(Body.transaction(jws), isRevealing: true)
        #expect(revealed.contains(Self.account))
        #expect(revealed.contains(signature))
        for body in [jws, Body.transaction(jws), Array(Body.transaction(jws).dropLast(2))] {
            #expect(try !shown(body).contains(signature))
        }
    }

    @Test(arguments: ["eyJhbGciOiJFUzI1NiJ9.e30", "eyJ!.x.y", "MIIB", "{\"signedPayload\":1", ""])
    func `undecodable content is reported and stops nothing`(text: String) {
        let contents = UnverifiedContents(of: Array(text.utf8))
        #expect(contents.parts.allSatisfy { $0.payload == nil && $0.problem != nil })
    }

    @Test func `the rendering of a large body is bounded`() throws {
        let jws = try transaction()
        let contents = UnverifiedContents(of: Body.history(Array(repeating: jws, count: 400)))
        #expect(contents.parts.count <= 100)
        #expect(!contents.isWhole)
        let long = try authority.sign(Array(#"{"a":"\#(String(repeating: "x y ", count: 200_000))"}"#.utf8))
        #expect(try shown(long, isRevealing: true).utf8.count < 100_000)
    }

    @Test func `a receipt shows its attributes and records`() throws {
        let receipts = try CertificateAuthority(.receipts(name: "Test"))
        var fields = ReceiptFields()
        fields.records = [ReceiptRecordFields()]
        let body = Body.receipt(try receipts.receiptText(fields))
        let parts = UnverifiedContents(of: body).parts
        let paths = parts.map { $0.text(isRevealing: false) }
        #expect(paths == ["receipt-data", "receipt-data.in_app[0]"])
        #expect(parts.allSatisfy { $0.payload != nil })
    }
}
