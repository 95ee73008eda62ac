import AppStore
import Store
import Testing

@testable import Operations

@Suite struct LinkLineTests {
    private func parse(
        _ text: String,
        isFirst: Bool = false,
        isUserRequired: Bool = true
    ) throws -> AccountLink? {
        try LinkLine.parse(Array(text.utf8), isFirst: isFirst, isUserRequired: isUserRequired)
    }

    private let link = AccountLink(kind: .accountToken, key: "t", userID: "u")

    @Test(arguments: [
        "account_token,t,u", "account-token,t,u", " account_token , t , u \r",
        "account_token,t,u,,", #""account_token","t","u""#,
        #"{"kind":"account_token","key":"t","user":"u"}"#,
        #"{"user":"u","key":"t","kind":"account-token","bundle":null}"#,
    ])
    func `the same link in every spelling`(line: String) throws {
        #expect(try parse(line) == link)
    }

    @Test func `environment and bundle narrow a link`() throws {
        var narrow = link
        narrow.environment = "Sandbox"
        narrow.bundleID = "com.example"
        #expect(try parse("account_token,t,u,Sandbox,com.example") == narrow)
        let json = #"{"kind":"account_token","key":"t","user":"u","environment":"Sandbox","#
        #expect(try parse(json + #""bundle":"com.example"}"#) == narrow)
    }

    @Test func `a quoted field holds commas and quotation marks`() throws {
        let named = AccountLink(kind: .appTransactionID, key: "7", userID: #"O"Hara, J."#)
        #expect(try parse(#"app_transaction_id,7,"O""Hara, J.""#) == named)
    }

    /// To RFC 4180 a comma or a quotation mark is one with an accent on it too.
    @Test func `an accent at the edge of a field belongs to the field`() throws {
        let accented = AccountLink(kind: .appTransactionID, key: "\u{301}7", userID: "\u{301}u")
        #expect(try parse("app_transaction_id,\u{301}7,\u{301}u") == accented)
        #expect(try parse("app_transaction_id,\"\u{301}7\",\"\u{301}u\"") == accented)
    }

    @Test(arguments: ["account_token", "account-token"])
    func `the nil UUID is no token that a link could name`(kind: String) throws {
        let nilUUID = "00000000-0000-0000-0000-000000000000"
        for isUserRequired in [true, false] {
            #expect(throws: LinkLine.Fault.self) {
                try parse("\(kind),\(nilUUID),u", isUserRequired: isUserRequired)
            }
        }
        #expect(try parse("app_transaction_id,\(nilUUID),u") != nil)
    }

    @Test func `headings and empty lines hold no link`() throws {
        #expect(try parse("kind,key,user", isFirst: true) == nil)
        #expect(try parse("  \r") == nil)
    }

    @Test func `headings further down are a fault`() {
        #expect(throws: LinkLine.Fault.self) { try parse("kind,key,user") }
    }

    @Test func `a link to be removed needs no user`() throws {
        let anybody = AccountLink(kind: .accountToken, key: "t", userID: "")
        #expect(try parse("account_token,t", isUserRequired: false) == anybody)
        let fault = LinkLine.Fault(
            expected: "for the user \(Identifier.entryRule)"
        )
        #expect(throws: fault) {
            try parse("account_token,t")
        }
    }

    @Test(arguments: [
        "token,t,u", "account_token,,u", "account_token,t,u,a,b,c", #"account_token,"t,u"#,
        #"account_token,"t"x,u"#, "{}", "{", #"{"kind":"account_token","key":1,"user":"u"}"#,
        #"{"kind":"account_token","key":"t","user":"u","extra":"x"}"#,
        #"account_token,t,"u ""#, "account_token,t,u\u{202e}", "account_token,\u{200f}t,u",
        #"{"kind":"account_token","key":" t","user":"u"}"#, "account_token,t,u,Sandbox,\u{a0}b",
    ])
    func `what is no link is refused`(line: String) {
        #expect(throws: LinkLine.Fault.self) { try parse(line) }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: LinkLine.Fault(expected: "UTF-8")) {
            try LinkLine.parse([0xFF], isFirst: false, isUserRequired: true)
        }
    }
}
