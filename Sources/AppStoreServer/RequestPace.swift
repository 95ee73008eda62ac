import AppStore
import Synchronization

/// The pace of the requests to one endpoint: a rate, and no request before the time that Apple has
/// named.
///
/// Requests that come late are made up for, so that a busy machine keeps the rate: Apple counts by
/// the hour. The time until a request that Apple has delayed is never made up for.
final class RequestPace: Sendable {
    enum Turn: Equatable {
        case go
        /// Ask again after this time.
        case wait(Duration)
    }

    private struct State {
        var nextTurn = Duration.zero
        var held = Timestamp.earliest
        /// Whether a request was delayed by Apple since the last one that went.
        var wasHeld = false
    }

    /// The time that is made up for at most.
    private static let arrearsMax = Duration.milliseconds(500)

    let interval: Duration
    private let state = Mutex(State())

    init(interval: Duration) {
        self.interval = interval
    }

    /// Takes the turn if it has come.
    ///
    /// - Parameters:
    ///   - now: the time of day, for Apple's times.
    ///   - uptime: from a clock that nobody sets, for the rate.
    func take(now: Timestamp, uptime: Duration) -> Turn {
        state.withLock { state in
            if now < state.held {
                state.wasHeld = true
                return .wait(.milliseconds(state.held.milliseconds - now.milliseconds))
            }
            if uptime < state.nextTurn {
                return .wait(state.nextTurn - uptime)
            }
            let earliest = state.wasHeld ? uptime : uptime - Self.arrearsMax
            state.nextTurn = max(state.nextTurn, earliest) + interval
            state.wasHeld = false
            return .go
        }
    }

    /// Lets no request go before this time, nor before an earlier call's.
    func hold(until time: Timestamp) {
        state.withLock { $0.held = max($0.held, time) }
    }
}

/// The value of a `Retry-After` header.
enum RetryAfter {
    /// The first time at which a request may be sent; nil if the header has no number.
    ///
    /// Apple sends UNIX milliseconds. A number that would be before 1973 is one of seconds from
    /// now, as in RFC 9110 §10.2.3. A wait is limited to a day: an hour is the longest that
    /// limits by the hour can need.
    static func time(_ text: String, now: Timestamp) -> Timestamp? {
        let digits = text.utf8
        let isNumber = digits.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard isNumber, !digits.isEmpty else { return nil }
        let number = Int64(text) ?? .max
        let latest = now.milliseconds + Timestamp.millisecondsPerDay
        let time =
            number < earliestMilliseconds
            ? now.milliseconds + min(number, secondsPerDay) * 1_000 : number
        return Timestamp(milliseconds: min(time, latest))
    }

    private static let earliestMilliseconds: Int64 = 100_000_000_000
    private static let secondsPerDay = Timestamp.millisecondsPerDay / 1_000
}
