import AppStore
import OpenSSL
import Simulation
import Store
import TestSupport
import Testing

@testable import AuditConsole

/// The certificates, faults and dates on the page of one letter.
@Suite(.timeLimit(.minutes(10))) struct LetterPageTests {
    /// A notification with a transaction, both signed by one authority that nobody configured.
    private static func letter(_ reason: RefusalReason) throws -> SampleLetter {
        let authority = try CertificateAuthority(name: "Somebody & Sons")
        func sign(_ payload: String) throws -> String {
            String(decoding: try authority.sign(Array(payload.utf8)), as: UTF8.self)
        }
        let transaction = try sign(#"{"transactionId":"7","signedDate":1790000000123,"price":1990}"#)
        let notification = try sign(
            #"""
            {"notificationType":"TEST","signedDate":1790000001000,
            "data":{"signedTransactionInfo":"\#(transaction)"}}
            """#)
        var letter = SampleLetter.plain(1)
        letter.reason = reason
        letter.certificates = authority.chain.map { SHA256.digest($0) }
        letter.value = Array(#"{"signedPayload":"\#(notification)"}"#.utf8)
        return letter
    }

    private func page(_ reason: RefusalReason) async throws -> String {
        let fixture = try await ConsoleFixture(letters: [Self.letter(reason)])
        return try await fixture.client(as: "vera").get("/letters/\(fixture.ids[0])").body
    }

    @Test func `a chain that several tokens share is shown once, with their paths`() async throws {
        let page = try await page(.itemMismatch)
        #expect(page.ranges(of: "Certificates of ").count == 1)
        #expect(page.ranges(of: "<dt>Serial</dt>").count == 3)
        let heading = try #require(page.firstMatch(of: /<h2>Certificates of .*?<\/h2>/)?.output)
        for path in ["signedPayload", "signedPayload.data.signedTransactionInfo"] {
            #expect(heading.contains(">\(path)</bdi>"))
        }
    }

    @Test func `the chain's certificates find other letters, and are not listed twice`() async throws {
        let page = try await page(.itemMismatch)
        let links = page.matches(of: /href="\/search\?certificate=([0-9a-f]{64})"/).map { $0.1 }
        #expect(links.count == 3)
        #expect(Set(links).count == 3)
    }

    @Test func `only faults that the letter was refused for are marked red`() async throws {
        let fault = "it is not Apple Root CA - G3, by its fingerprint"
        let refused = try await page(.rootUntrusted)
        #expect(refused.contains("<p class=\"alert\">\(fault)</p>"))
        let other = try await page(.itemMismatch)
        #expect(!other.contains("class=\"alert\""))
        #expect(other.contains("\(fault)</p>"))
        // A root that only bears Apple's name is the reason if nothing else is.
        let chain = try await page(.chainInvalid)
        #expect(chain.contains("<p class=\"alert\">\(fault)</p>"))
    }

    @Test func `dates in decoded payloads are readable beside their milliseconds`() async throws {
        let page = try await page(.itemMismatch)
        #expect(
            page.contains(
                "1790000000123,<time class=\"beside\" datetime=\"2026-09-21T14:13:20.123Z\">"
                    + "2026-09-21 14:13:20 UTC</time>"))
        #expect(page.contains("1990<") || page.contains("1990\n"))
    }
}
