import JSON
import Commands
import Testing

@Suite struct AnswerTextTests {
    @Test func `an answer is shown as lines, blocks and lists`() throws {
        let answer = JSONContent(
            try JSONDocument(
                parsing: Array(
                    """
                    {"user_id":"anna","at":"2026-03-02T12:00:00.123Z","day":"2026-03-02","version":null,
                     "grants":[],"keys":["pro","vip"],"amount":-1234567,"share":0.5,"is_active":true,"note":"",
                     "periods":[{"start":"2026-01-01T00:00:00.000Z","end":"2026-02-01T00:00:00.000Z"},
                                {"start":"2026-03-01T00:00:00.000Z","end":null}],
                     "purchases":[{"bundle_id":"app","owner":{"user_id":"anna"},"sources":[{"record":"raw/0/1"}]},
                                  {"bundle_id":"other","sources":[]}]}
                    """.utf8)
            ).root)
        #expect(
            answer.lines.joined(separator: "\n") == """
                user id: anna
                at: 2026-03-02T12:00:00Z
                day: 2026-03-02
                grants: none
                keys: pro, vip
                amount: -1234567
                share: 0.5
                is active: yes
                note: (empty)
                periods: from 2026-01-01T00:00:00Z until 2026-02-01T00:00:00Z, from 2026-03-01T00:00:00Z without end
                purchases:
                  - bundle id: app
                    owner:
                      user id: anna
                    sources:
                      - record: raw/0/1
                  - bundle id: other
                    sources: none
                """)
    }

    @Test func `a copied value is written as it was read`() throws {
        let text = #"{"a":[1,-2.50,1e400,9223372036854775808,true,false,null,"\u00fc\n"],"b":{}}"#
        let copy = JSONContent(try JSONDocument(parsing: Array(text.utf8)).root)
        #expect(String(decoding: copy.bytes, as: UTF8.self) == text.replacing(#"\u00fc"#, with: "ü"))
    }
}
