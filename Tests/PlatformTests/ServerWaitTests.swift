import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct ServerWaitTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock(\.self) }

        @Sendable func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private static func begin(within limit: Duration? = nil, after patience: Duration = .zero) -> ServerWait? {
        .begin(for: "Kafka at kafka:9092", within: limit, patience: patience)
    }

    @Test func `a wait is reported with its limit, and so is its end`() async {
        let lines = Lines()
        await ServerWait.reporting(to: lines.add) {
            let wait = Self.begin(within: .seconds(30))
            await eventually { lines.all == ["waiting for Kafka at kafka:9092, 30 s at most"] }
            wait?.answered()
            wait?.answered()
        }
        #expect(lines.all.dropFirst() == ["Kafka at kafka:9092 answers"])
    }

    @Test func `a quick answer, and a wait that was given up, are not reported`() async {
        let lines = Lines()
        await ServerWait.reporting(to: lines.add) {
            Self.begin(after: .milliseconds(50))?.answered()
            _ = Self.begin(after: .milliseconds(50))
            let last = Self.begin(after: .milliseconds(100))
            await eventually { !lines.all.isEmpty }
            last?.answered()
        }
        #expect(lines.all.count == 2, "\(lines.all)")
    }

    @Test func `nobody waits in a service`() { #expect(Self.begin() == nil) }
}
