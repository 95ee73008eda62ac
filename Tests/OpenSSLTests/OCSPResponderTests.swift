import OpenSSL
import Testing
import TestSupport
import Simulation

/// The way to a responder, where it is slow, lies or says nothing.
@Suite struct OCSPResponderTests {
    /// Asks a responder, and returns the error and the time that it took.
    ///
    /// The code is `nil` if the responder answered.
    private static func ask(_ address: String, deadlineSeconds: Int = 1, answerBytesMax: Int = 4_096) throws -> (
        code: OCSPError.Code?, time: Duration
    ) {
        let chain = try RevocableAuthority(port: 9).chain
        let question = try OCSPQuestion(about: chain[0], issuedBy: chain[1])
        let start = ContinuousClock.now
        do throws(OCSPError) {
            _ = try OCSPResponder.ask(
                question, at: address, deadlineSeconds: deadlineSeconds, answerBytesMax: answerBytesMax)
            return (nil, .now - start)
        } catch { return (error.code, .now - start) }
    }

    private static func head(
        _ status: String = "200 OK", type: String = "application/ocsp-response", _ more: String = ""
    ) -> [UInt8] { Array("HTTP/1.0 \(status)\r\nContent-Type: \(type)\r\n\(more)\r\n".utf8) }

    @Test(
        arguments: [
            ("silence", .silence),
            ("drips its head", .drip(Array("HTTP/1.0 200 OK\r\nX: ".utf8), every: .milliseconds(20))),
            ("drips its body", .drip(head() + [0x30, 0x82, 0x08, 0x00], every: .milliseconds(20))),
            ("says nothing and goes", .bytes([])), ("no HTTP", .bytes(Array("220 mail.example ESMTP\r\n".utf8))),
            ("an error", .bytes(head("500 Internal Server Error"))),
            ("another type", .bytes(head(type: "text/html") + Array("<html></html>".utf8))),
            ("no ASN.1", .bytes(head() + Array("garbage, and more of it".utf8))),
            ("cut off", .bytes(head() + [0x30, 0x82, 0x04, 0x00, 0x0A])),
            ("too large", .bytes(head() + [0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF, 0x00])),
            ("larger than allowed", .bytes(head() + [0x30, 0x82, 0x10, 0x01] + [UInt8](repeating: 0, count: 4_097))),
        ] as [(String, ScriptedServer.Script)]) func `a bad or missing answer ends within the deadline`(
            name: String, script: ScriptedServer.Script
        ) throws
    {
        let server = try ScriptedServer(script)
        defer { server.stop() }
        let (code, time) = try Self.ask("http://127.0.0.1:\(server.port)/ocsp")
        #expect(code == .unanswered)
        #expect(time < .hopeless)
        #expect(server.connections == 1)
    }

    /// OpenSSL's client bounds the element, and also returns the bytes behind it.
    @Test func `what follows an answer counts towards its size`() throws {
        let answer: [UInt8] = [0x30, 0x02, 0x05, 0x00]
        for (rest, code) in [(0, nil), (60, nil), (61, OCSPError.Code.unanswered)] {
            let body = answer + [UInt8](repeating: 0, count: rest)
            let server = try ScriptedServer(.bytes(Self.head() + body))
            defer { server.stop() }
            let address = "http://127.0.0.1:\(server.port)/"
            #expect(try Self.ask(address, answerBytesMax: 64).code == code, "\(rest)")
        }
    }

    @Test func `no server means no answer, and only HTTP is used`() throws {
        let server = try ScriptedServer(.silence)
        server.stop()
        #expect(try Self.ask("http://127.0.0.1:\(server.port)/").code == .unanswered)
        for address in ["https://127.0.0.1:1/", "ftp://127.0.0.1:1/", "", "http://[::1"] {
            #expect(try Self.ask(address).code == .notAsked, "\(address)")
        }
    }

    @Test func `a redirection is not followed`() throws {
        let elsewhere = try ScriptedServer(.silence)
        defer { elsewhere.stop() }
        let target = "Location: http://127.0.0.1:\(elsewhere.port)/\r\n"
        for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"] {
            let server = try ScriptedServer(.bytes(Self.head(status, target)))
            defer { server.stop() }
            #expect(try Self.ask("http://127.0.0.1:\(server.port)/").code == .unanswered)
        }
        #expect(elsewhere.connections == 0)
    }
}
