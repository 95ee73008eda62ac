import AppStore
import JSON
import Testing

@testable import AppStoreServer

struct NotificationPageTests {
    @Test func `notifications are listed with what their unverified payloads name`() throws {
        let payload = """
            {"notificationType":"DID_RENEW","subtype":"BILLING_RECOVERY","notificationUUID":"u-1",\
            "data":{"bundleId":"com.example.app","environment":"Sandbox"},\
            "signedDate":1764115200123,"added":{"later":[1]}}
            """
        let token = Self.token(payload)
        let page = try Self.page(
            """
            {"notificationHistory":[{"signedPayload":"\(token)","sendAttempts":[
              {"attemptDate":1764115201000,"sendAttemptResult":"TIMED_OUT"},
              {"attemptDate":"soon","sendAttemptResult":"ADDED_LATER","added":1},
              {"sendAttemptResult":"\\u0007"}]}],
            "hasMore":true,"paginationToken":"next","added":null}
            """)
        #expect(page.nextPage == "next")
        let listed = try #require(page.notifications.first)
        #expect(listed.signedPayload == Array(token.utf8))
        #expect(listed.uuid == "u-1")
        #expect(listed.type == "DID_RENEW")
        #expect(listed.signedAt?.milliseconds == 1_764_115_200_123)
        #expect(listed.sendAttempts == [.init(result: "TIMED_OUT"), .init(result: "ADDED_LATER"), .init(result: nil)])
    }

    @Test(arguments: [
        #"{"notificationType":"SOMETHING_NEW","notificationUUID":"u-2"}"#,
        #"{"notificationType":"A","notificationUUID":"u-2","data":{"bundleId":"com.other"}}"#,
        #"{"notificationUUID":"u-2","brandNew":{"bundleId":"com.example.app"},"data":7}"#,
    ]) func `an unknown kind and a foreign app's notification are listed too`(payload: String) throws {
        let page = try Self.page(Self.list(Self.token(payload)))
        #expect(page.notifications.first?.uuid == "u-2")
        #expect(page.unreadableCount == 0)
    }

    @Test(arguments: [
        "no token", "a.b", "a.b.c", Self.token("[]"), Self.token("{"), Self.token(#"{"notificationUUID":7}"#),
        Self.token(#"{"notificationUUID":"\u0007"}"#), Self.token(#"{"notificationUUID":""}"#),
    ]) func `a payload that cannot be read is listed without a UUID`(token: String) throws {
        let page = try Self.page(Self.list(token))
        #expect(page.notifications.map(\.signedPayload) == [Array(token.utf8)])
        #expect(page.notifications.first?.uuid == nil)
    }

    @Test func `entries without a payload are counted, and do not hide the others`() throws {
        let page = try Self.page(
            #"{"notificationHistory":[{},7,{"signedPayload":null},{"signedPayload":""},"#
                + #"{"signedPayload":"a.b.c"}],"hasMore":false,"paginationToken":"ignored"}"#)
        #expect(page.unreadableCount == 4)
        #expect(page.notifications.count == 1)
        #expect(page.nextPage == nil)
    }

    @Test func `an empty page may have a next one`() throws {
        #expect(try Self.page(#"{"hasMore":true,"paginationToken":"n"}"#).nextPage == "n")
    }

    @Test(arguments: [
        ("{}", "hasMore"), (#"{"hasMore":1}"#, "hasMore"), (#"{"hasMore":true}"#, "paginationToken"),
        (#"{"hasMore":true,"paginationToken":null}"#, "paginationToken"),
        (#"{"hasMore":true,"paginationToken":""}"#, "paginationToken"),
        (#"{"notificationHistory":"x","hasMore":false}"#, "notificationHistory"),
    ]) func `a page without what Apple documents is malformed`(text: String, member: String) throws {
        let error = #expect(throws: MalformedPage.self) { try Self.page(text) }
        #expect("\(error?.member ?? "")" == member)
    }

    private static func page(_ text: String) throws -> NotificationPage {
        try NotificationPage(JSONDocument(parsing: Array(text.utf8)).root)
    }

    private static func list(_ token: String) -> String {
        "{\"notificationHistory\":[{\"signedPayload\":\"\(token)\"}],\"hasMore\":false}"
    }

    private static func token(_ payload: String) -> String {
        let segments = ["{}", payload, "none"].map { Base64.url.encode(Array($0.utf8)) }
        return String(decoding: Array(segments.joined(separator: ".".utf8)), as: UTF8.self)
    }
}
