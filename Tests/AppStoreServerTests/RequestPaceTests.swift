import AppStore
import Testing

@testable import AppStoreServer

struct RequestPaceTests {
    @Test func `requests keep the rate, whatever the time of day`() {
        let pace = RequestPace(interval: .milliseconds(40))
        let now = Timestamp(milliseconds: 1_000_000)
        let before = Timestamp(milliseconds: 0)
        #expect(pace.take(now: now, uptime: .zero) == .go)
        pace.end(isAnswered: true)
        #expect(pace.take(now: before, uptime: .milliseconds(10)) == .wait(.milliseconds(30)))
        #expect(pace.take(now: before, uptime: .milliseconds(40)) == .go)
    }

    @Test func `requests that come late are made up for, half a second of them at most`() {
        let pace = RequestPace(interval: .milliseconds(40))
        let now = Timestamp(milliseconds: 1_000_000)
        #expect(pace.take(now: now, uptime: .zero) == .go)
        pace.end(isAnswered: true)
        // 60 ms late.
        for _ in 1...2 { #expect(pace.take(now: now, uptime: .milliseconds(100)) == .go) }
        #expect(pace.take(now: now, uptime: .milliseconds(100)) == .wait(.milliseconds(20)))
        for _ in 0...12 { #expect(pace.take(now: now, uptime: .seconds(60)) == .go) }
        #expect(pace.take(now: now, uptime: .seconds(60)) == .wait(.milliseconds(20)))
    }

    @Test func `the time that Apple has asked to wait for is not made up for`() {
        let pace = RequestPace(interval: .milliseconds(40))
        pace.hold(until: Timestamp(milliseconds: 5_000))
        let early = pace.take(now: Timestamp(milliseconds: 1_000), uptime: .zero)
        #expect(early == .held(until: Timestamp(milliseconds: 5_000)))
        let now = Timestamp(milliseconds: 5_000)
        #expect(pace.take(now: now, uptime: .seconds(4)) == .go)
        #expect(pace.take(now: now, uptime: .seconds(4)) == .wait(.milliseconds(40)))
    }

    @Test func `no request goes before the latest time that Apple has named`() {
        let pace = RequestPace(interval: .zero)
        pace.hold(until: Timestamp(milliseconds: 2_000))
        pace.hold(until: Timestamp(milliseconds: 1_500))
        let early = pace.take(now: Timestamp(milliseconds: 1_999), uptime: .zero)
        #expect(early == .held(until: Timestamp(milliseconds: 2_000)))
        pace.release()
        #expect(pace.take(now: Timestamp(milliseconds: 1_999), uptime: .zero) == .go)
        pace.end(isAnswered: true)
        #expect(pace.take(now: Timestamp(milliseconds: 2_000), uptime: .zero) == .go)
    }

    @Test func `requests go one by one until one is answered, and after a failure`() {
        let pace = RequestPace(interval: .zero)
        func take() -> RequestPace.Turn { pace.take(now: Timestamp(milliseconds: 1_000_000), uptime: .seconds(60)) }
        #expect([take(), take()] == [.go, .wait(.zero)])
        pace.end(isAnswered: true)
        #expect([take(), take()] == [.go, .go])
        pace.end(isAnswered: false)
        #expect(take() == .wait(.zero))
        pace.end(isAnswered: false)
        #expect([take(), take()] == [.go, .wait(.zero)])
    }

    @Test(arguments: [
        ("1764115201123", 1_764_115_201_123), ("1764115200123", 1_764_115_201_000),
        ("1764115199000", 1_764_115_201_000), ("30", 1_764_115_230_000), ("0", 1_764_115_201_000),
        ("1764115200", 1_764_201_600_000), ("99999999999", 1_764_201_600_000), ("253402300800000", 1_764_201_600_000),
        ("9223372036854775807", 1_764_201_600_000), ("99999999999999999999", 1_764_201_600_000), ("", nil), ("-1", nil),
        ("+1", nil), ("1.5", nil), ("soon", nil), ("\u{663}", nil), ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
    ]) func `Retry-After is a time in milliseconds, else seconds, a second at least and a day at most`(
        text: String, expected: Int64?
    ) {
        let now = Timestamp(milliseconds: 1_764_115_200_000)
        #expect(RetryAfter.time(text, now: now)?.milliseconds == expected)
    }

    @Test func `a half of Apple's limits is taken by default, a tenth of that in Sandbox`() {
        let history = APIEndpoint.notificationHistory
        #expect(history.interval(in: .production, percent: 50) == .milliseconds(40))
        #expect(history.interval(in: .sandbox, percent: 50) == .milliseconds(400))
        #expect(APIEndpoint.orderLookup.interval(in: .production, percent: 50) == .milliseconds(200))
        #expect(APIEndpoint.refundHistory.interval(in: .sandbox, percent: 100) == .seconds(1))
        #expect(APIEndpoint.accountToken.interval(in: .production, percent: 50) == .milliseconds(100))
        #expect(history.interval(in: .production, percent: 0) == .seconds(2))
    }
}
