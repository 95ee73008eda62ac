import AppStore
import AppStoreServer
import Foundation
import OpenSSL
import TestSupport
import Testing

/// Every response that is no success, and the caller's next step.
struct APIFailureTests {
    private typealias Response = HTTPSResponder.Response

    private static let classified: [(Int, Int?, APIFailure.Action)] = [
        (400, 4_000_000, .refused), (400, 4_000_005, .restart), (400, 4_000_006, .notFound),
        (400, 4_000_008, .notFound), (400, 4_000_012, .restart), (400, 4_000_014, .restart), (400, 4_000_017, .restart),
        (400, 4_000_048, .refused), (400, 4_000_183, .refused), (400, 4_000_185, .refused), (400, 4_000_187, .refused),
        (400, 4_000_227, .refused), (400, 3_999_999, .retry(after: nil)), (400, 4_010_000, .retry(after: nil)),
        (400, nil, .retry(after: nil)), (401, nil, .stop), (401, 4_290_000, .stop), (403, nil, .retry(after: nil)),
        (403, 4_000_000, .retry(after: nil)), (404, 4_040_001, .notFound), (404, 4_040_002, .retry(after: nil)),
        (404, 4_040_003, .stop), (404, 4_040_004, .retry(after: nil)), (404, 4_040_005, .notFound),
        (404, 4_040_006, .retry(after: nil)), (404, 4_040_010, .notFound), (404, nil, .retry(after: nil)),
        (404, 4_049_999, .retry(after: nil)), (408, nil, .retry(after: nil)), (413, nil, .retry(after: nil)),
        (421, nil, .retry(after: nil)), (429, nil, .retry(after: nil)), (302, nil, .retry(after: nil)),
        (500, 5_000_000, .retry(after: nil)), (500, 5_000_001, .retry(after: nil)), (503, nil, .retry(after: nil)),
    ]

    @Test func `each status and error code has its next step`() async throws {
        let rig = try await Rig(
            Self.classified.map { status, code, _ in
                .of(
                    status: status,
                    code.map { #"{"errorCode":\#($0),"errorMessage":"secret@example.com"}"# }
                        ?? "<html>secret@example.com</html>")
            })
        for (status, code, action) in Self.classified {
            let failure = try await rig.failure { _ = try await $0.refundHistory("1000") }
            #expect(failure.action == action, "\(status) \(code ?? 0)")
            #expect(failure.httpStatus == status)
            #expect(failure.errorCode == code.map(Int64.init))
            #expect(failure.description.contains("refund history: HTTP \(status)"))
            #expect(!"\(failure)".contains("secret"))
        }
    }

    /// Responses of status 200 without a usable page, and what the reason names.
    private static let unusable: [(Response, String)] = [
        (.of("{"), "JSON"), (.of(""), "JSON"), (.of("[]"), "object"), (.of("null"), "object"),
        (.of(#"{"signedTransactions":[]}"#), "hasMore"),
        (.of(#"{"signedTransactions":[],"hasMore":"true"}"#), "hasMore"),
        (.of(#"{"signedTransactions":{},"hasMore":false}"#), "signedTransactions"),
        (.of(#"{"signedTransactions":[],"hasMore":true}"#), "revision"),
        (.of(#"{"signedTransactions":[],"hasMore":true,"revision":""}"#), "revision"),
        (.of(#"{"signedTransactions":[],"hasMore":true,"revision":7}"#), "revision"),
        (.of(#"{"hasMore":false,"hasMore":true}"#), "JSON"), (.of(String(repeating: "[", count: 100_000)), "JSON"),
        (.of("{\"a\":[" + String(repeating: "0,", count: 200_000) + "0]}"), "JSON"),
        (.init("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"ha", then: .cut), "HTTPS"),
        (
            .init(
                "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n" + String(repeating: " ", count: 17_000_000),
                then: .close), "HTTPS"
        ),
    ]

    @Test(arguments: unusable.indices) func `an unusable response is a clear failure without its contents`(index: Int)
        async throws
    {
        let (response, named) = Self.unusable[index]
        let rig = try await Rig([response])
        let failure = try await rig.failure { _ = try await $0.refundHistory("1000") }
        #expect(failure.action == .retry(after: nil))
        #expect(failure.reason.contains(named), "\(failure)")
        let shown = "\(failure) \(String(reflecting: failure))"
        #expect(!shown.contains(try rig.tokens[0]))
    }

    @Test func `a missing file of authorities is for the operator`() async throws {
        let listener = try ScriptedServer(.silence)
        defer { listener.stop() }
        let url = "https://localhost:\(listener.port)"
        let server = try LoopbackServer(url: url, authorityFile: "/nowhere.pem")
        let api = try AppStoreServerAPI(Rig.credentials(PrivateKey.generate(.p256)), server: server)
        let failure = await #expect(throws: APIFailure.self) { try await api.finish("1") }
        #expect(failure?.action == .stop)
    }
}
