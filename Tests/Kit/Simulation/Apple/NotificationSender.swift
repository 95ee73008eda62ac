import Foundation
import JSON
import Synchronization

/// Posts notifications to an ingestion service on this machine, as Apple's server does: at once,
/// and after each failure again by Apple's plan, six times at most.
///
/// Each attempt is recorded in the world, whose history lists the notification from the first on.
package final class NotificationSender: Sendable {
    private struct Waiting {
        let uuid: String
        let jws: [UInt8]
        var due: Int64
        var attemptsCount = 0
    }

    private struct State {
        /// Notifications to send by time, the next one first.
        var waiting: [Waiting] = []
        var uuids: Set<String> = []
        var sendingCount = 0
    }

    private let world: AppleWorld
    private let clock: SimulatedClock
    private let port: UInt16
    private let path: String
    private let concurrentMax: Int
    private let silenceSecondsMax: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - clock: shows the time of the plan, so that it decides how long an hour takes.
    ///   - port: of 127.0.0.1, where a service listens without TLS.
    ///   - silenceSecondsMax: of the machine's clock; a service that is silent for longer has timed
    ///     out.
    package init(
        _ world: AppleWorld, clock: SimulatedClock, port: UInt16, path: String = "/", concurrentMax: Int = 4,
        silenceSecondsMax: Int = 5
    ) {
        self.world = world
        self.clock = clock
        self.port = port
        self.path = path
        self.concurrentMax = concurrentMax
        self.silenceSecondsMax = silenceSecondsMax
    }

    /// Adds a notification to the world, and sends it from a time on; by default at once.
    ///
    /// A JWS that is no notification, or one of the same UUID, is ignored.
    package func send(_ jws: [UInt8], at time: Int64? = nil) {
        guard let uuid = UnverifiedJWS(jws)?.payload["notificationUUID"]?.string,
            state.withLock({ $0.uuids.insert(uuid).inserted })
        else { return }
        world.add(jws, attempts: [])
        wait(Waiting(uuid: uuid, jws: jws, due: time ?? clock.now))
    }

    /// Notifications that are still to be sent, for the first time or again.
    package var waitingCount: Int { state.withLock { $0.waiting.count + $0.sendingCount } }

    /// Sends until every notification is delivered or its plan has ended, or the task is cancelled.
    package func run() async {
        await withTaskGroup { group in for _ in 0..<concurrentMax { group.addTask { await self.runOne() } } }
    }

    private func runOne() async {
        while waitingCount > 0, !Task.isCancelled {
            guard let next = nextDue() else {
                try? await Task.sleep(for: .milliseconds(2))
                continue
            }
            await attempt(next)
        }
    }

    private func attempt(_ notification: Waiting) async {
        let date = clock.now
        let result = await withCheckedContinuation { continuation in
            // The client blocks, which no task may.
            Thread.detachNewThread { [self] in continuation.resume(returning: post(Body.notification(notification.jws)))
            }
        }
        world.record(SendAttempt(date: date, result: result), ofNotification: notification.uuid)
        var next = notification
        next.attemptsCount += 1
        let delays = SendAttempt.retryHours
        if result != .success, next.attemptsCount <= delays.count {
            next.due = date + delays[next.attemptsCount - 1] * 3_600_000
            wait(next)
        }
        state.withLock { $0.sendingCount -= 1 }
    }

    private func wait(_ notification: Waiting) {
        state.withLock { state in
            let before = state.waiting.lastIndex { $0.due <= notification.due }
            state.waiting.insert(notification, at: before.map { $0 + 1 } ?? 0)
        }
    }

    private func nextDue() -> Waiting? {
        state.withLock { state in
            guard let first = state.waiting.first, first.due <= clock.now else { return nil }
            state.sendingCount += 1
            return state.waiting.removeFirst()
        }
    }

    private func post(_ body: [UInt8]) -> SendAttempt.Result {
        guard let client = try? RawClient(port: port, silenceMax: silenceSecondsMax) else { return .socketIssue }
        client.send(
            "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n" + "Content-Type: application/json; charset=utf-8\r\n"
                + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n" + String(decoding: body, as: UTF8.self))
        let words = client.readMessage().split(separator: " ")
        guard let status = words.dropFirst().first.flatMap({ Int($0) }) else { return .noResponse }
        return (200...206).contains(status) ? .success : .unsuccessfulHTTPResponseCode
    }
}
