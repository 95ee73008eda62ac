import AppStore
import Store
import Testing

@testable import Operations

@Suite struct LinkLineTests {
    private func parse(_ text: String, isFirst: Bool = false, isUserRequired: Bool = true) throws -> AccountLink? {
        try LinkLine.parse(Array(text.utf8), isFirst: isFirst, isUserRequired: isUserRequired)
    }

    private let link = AccountLink(kind: .appTransactionID, key: "7", userID: "u")

    @Test(arguments: [
        "app_transaction_id,7,u", "app-transaction-id,7,u", " app_transaction_id , 7 , u \r",
        "app_transaction_id,7,u,,", #""app_transaction_id","7","u""#,
        #"{"kind":"app_transaction_id","key":"7","user":"u"}"#,
        #"{"user":"u","key":"7","kind":"app-transaction-id","bundle":null}"#,
    ]) func `the same link in every spelling`(line: String) throws { #expect(try parse(line) == link) }

    @Test func `environment and bundle narrow a link`() throws {
        var narrow = link
        narrow.environment = "Sandbox"
        narrow.bundleID = "com.example"
        #expect(try parse("app_transaction_id,7,u,Sandbox,com.example") == narrow)
        let json = #"{"kind":"app_transaction_id","key":"7","user":"u","environment":"Sandbox","#
        #expect(try parse(json + #""bundle":"com.example"}"#) == narrow)
    }

    @Test func `a quoted field holds commas and quotation marks`() throws {
        let named = AccountLink(kind: .appTransactionID, key: "7", userID: #"O"Hara, J."#)
        #expect(try parse(#"app_transaction_id,7,"O""Hara, J.""#) == named)
    }

    /// RFC 4180 counts a comma or a quotation mark even if an accent follows.
    @Test func `an accent at the edge of a field belongs to the field`() throws {
        let accented = AccountLink(kind: .appTransactionID, key: "7", userID: "\u{301}u")
        #expect(try parse("app_transaction_id,7,\u{301}u") == accented)
        #expect(try parse("app_transaction_id,\"7\",\"\u{301}u\"") == accented)
    }

    @Test(arguments: ["account_token", "account-token"]) func `the nil UUID is no token that a link could name`(
        kind: String
    ) throws {
        let nilUUID = "00000000-0000-0000-0000-000000000000"
        for isUserRequired in [true, false] {
            #expect(throws: LinkLine.Fault.self) { try parse("\(kind),\(nilUUID),u", isUserRequired: isUserRequired) }
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
        let fault = LinkLine.Fault(expected: "for the user \(Identifier.entryRule)")
        #expect(throws: fault) { try parse("app_transaction_id,7") }
    }

    @Test func `a byte order mark before the first line belongs to no field`() throws {
        #expect(try parse("\u{FEFF}app_transaction_id,7,u", isFirst: true) == link)
        #expect(try parse("\u{FEFF}kind,key,user", isFirst: true) == nil)
        #expect(throws: LinkLine.Fault.self) { try parse("\u{FEFF}app_transaction_id,7,u") }
    }

    @Test(arguments: [
        "account_token,{11111111-aaaa-4aaa-8aaa-111111111111},u", "account_token,11111111aaaa4aaa8aaa111111111111,u",
        "account_token,7,u", "account_token,11111111-aaaa-4aaa-8aaa-11111111111g,u",
        "original_transaction_id,2.00000E+15,u", "original_transaction_id,2E+15,u",
        "original_transaction_id,\"2 000 000\",u", "app_transaction_id,7.0,u", "app_transaction_id,{7},u",
        "app_transaction_id,'7,u", "app_transaction_id,\u{301}7,u", "app_transaction_id,7,u,production",
        "app_transaction_id,7,u,Prod",
    ]) func `what no purchase can match is refused`(line: String) throws {
        #expect(throws: LinkLine.Fault.self) { try parse(line) }
    }

    @Test func `a token of the form that Apple signs is taken in either case`() throws {
        let token = "11111111-AAAA-4aaa-8AAA-111111111111"
        for spelling in [token, token.lowercased(), token.uppercased()] {
            #expect(try parse("account_token,\(spelling),u")?.key.text == spelling)
        }
    }

    @Test(arguments: [
        "token,t,u", "account_token,,u", "account_token,t,u,a,b,c", #"account_token,"t,u"#, #"account_token,"t"x,u"#,
        "{}", "{", #"{"kind":"account_token","key":1,"user":"u"}"#,
        #"{"kind":"account_token","key":"t","user":"u","extra":"x"}"#, #"account_token,t,"u ""#,
        "account_token,t,u\u{202e}", "account_token,\u{200f}t,u", #"{"kind":"account_token","key":" t","user":"u"}"#,
        "account_token,t,u,Sandbox,\u{a0}b",
    ]) func `what is no link is refused`(line: String) { #expect(throws: LinkLine.Fault.self) { try parse(line) } }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: LinkLine.Fault(expected: "UTF-8")) {
            try LinkLine.parse([0xFF], isFirst: false, isUserRequired: true)
        }
    }
}
