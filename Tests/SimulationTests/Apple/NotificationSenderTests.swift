import HTTP
import Simulation
import Synchronization
import TestSupport
import Testing

/// The sender of notifications, against ingestion services good and bad.
@Suite(.hopeless) struct NotificationSenderTests {
    private let client: AppleClient

    init() throws { client = try AppleClient() }

    /// A signed notification of this UUID.
    private func notification(_ uuid: String) throws -> [UInt8] {
        var data = NotificationDataFields()
        data.bundleID = "com.example.pro"
        var fields = NotificationFields()
        fields.notificationUUID = uuid
        fields.signedDate = AppleClient.now - 1_000
        fields.data = data.json
        return try client.world.authority.sign(fields.json)
    }

    private func sender(port: UInt16) -> NotificationSender {
        NotificationSender(client.world, clock: client.clock, port: port, silenceSecondsMax: 600)
    }

    private func service(_ answer: @escaping @Sendable (_ number: Int, _ body: [UInt8]) -> HTTPResponse) throws -> (
        server: HTTPServer, bodies: Received
    ) {
        let received = Received()
        let server = try HTTPServer(address: "127.0.0.1", port: 0, limits: .standard) { request in
            answer(received.append(request.body), request.body)
        }
        return (server, received)
    }

    /// The bodies of an ingestion service's requests.
    private final class Received: Sendable {
        private let bodies = Mutex<[[UInt8]]>([])

        func append(_ body: [UInt8]) -> Int {
            bodies.withLock { bodies in
                bodies.append(body)
                return bodies.count
            }
        }

        var all: [[UInt8]] { bodies.withLock { $0 } }
    }

    @Test func `a service that answers gets each notification once`() async throws {
        let (server, received) = try service { _, _ in .text("") }
        let sender = sender(port: server.port)
        let signed = try (0..<10).map { try notification("uuid-\($0)") }
        for jws in signed { sender.send(jws) }
        #expect(sender.waitingCount == 10)
        #expect(try await client.pages().flatMap { try $0.uuids } == [])
        await sender.run()
        #expect(sender.waitingCount == 0)
        #expect(Set(received.all) == Set(signed.map { Body.notification($0) }))
        #expect(received.all.count == 10)
        let delivered = SendAttempt(date: AppleClient.now, result: .success)
        #expect(client.world.attempts(ofNotification: "uuid-3") == [delivered])
        #expect(try await client.pages().flatMap { try $0.uuids }.count == 10)
        let failures = try await client.pages(further: ",\"onlyFailures\":true")
        #expect(try failures.flatMap { try $0.uuids } == [])
    }

    @Test func `a refused notification is sent six times, by Apple's plan`() async throws {
        let refused = try notification("refused")
        let (server, received) = try service { _, body in
            .text("", status: body == Body.notification(refused) ? 503 : 200)
        }
        let sender = sender(port: server.port)
        sender.send(refused)
        let running = Task { await sender.run() }
        func attemptsCount(_ uuid: String) -> Int { client.world.attempts(ofNotification: uuid).count }
        await eventually { attemptsCount("refused") == 1 }
        for (number, hours) in [1, 12, 24, 48, 72].enumerated() {
            client.clock.advance(by: .seconds(hours * 3_600 - 1))
            // The probe is sent after everything that was due before it.
            sender.send(try notification("probe-\(number)"))
            await eventually { attemptsCount("probe-\(number)") == 1 }
            #expect(attemptsCount("refused") == number + 1)
            client.clock.advance(by: .seconds(1))
            await eventually { attemptsCount("refused") == number + 2 }
        }
        await running.value
        #expect(received.all.count == 6 + 5 && sender.waitingCount == 0)
        let attempts = client.world.attempts(ofNotification: "refused")
        let hours = attempts.map { ($0.date - AppleClient.now) / 3_600_000 }
        #expect(hours == [0, 1, 13, 37, 85, 157])
        #expect(attempts.allSatisfy { $0.result == .unsuccessfulHTTPResponseCode })
    }

    @Test func `a notification is a failure until an attempt succeeds`() async throws {
        let (server, _) = try service { number, _ in .text("", status: number == 1 ? 500 : 200) }
        let sender = sender(port: server.port)
        sender.send(try notification("late"))
        let running = Task { await sender.run() }
        await eventually { client.world.attempts(ofNotification: "late").count == 1 }
        let only = ",\"onlyFailures\":true"
        #expect(try await client.pages(further: only).flatMap { try $0.uuids } == ["late"])
        client.clock.advance(by: .seconds(3_600))
        await running.value
        #expect(try await client.pages(further: only).flatMap { try $0.uuids } == [])
        let item = try await client.pages().flatMap(\.items).first
        #expect(item?.sendResults == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE", "SUCCESS"])
    }

    @Test func `a fast clock brings the demo's notifications, and the second attempts, at once`() async throws {
        let traffic = try DemoTraffic(bodyCount: 200, now: AppleClient.now)
        let (server, received) = try service { number, _ in .text("", status: number.isMultiple(of: 3) ? 500 : 200) }
        // An hour takes a tenth of a second.
        let clock = SimulatedClock(start: AppleClient.now, speed: 36_000)
        let sender = NotificationSender(client.world, clock: clock, port: server.port, silenceSecondsMax: 600)
        for jws in traffic.signedByApple { sender.send(jws) }
        let count = sender.waitingCount
        await sender.run()
        let sendings = Dictionary(grouping: received.all) { $0 }.mapValues(\.count)
        #expect(count > 50 && sendings.count == count)
        #expect(sendings.values.contains { $0 > 1 })
    }
}
