import AppStore
import Synchronization

/// Paces the requests to one endpoint: a fixed rate, and no request before a time set by Apple.
///
/// Requests are sent one at a time until one is answered, and again after one fails.
///
/// Delayed requests are made up for, up to `arrearsMax`, because Apple's limits count by the hour.
/// A pause that Apple has asked for is not made up for.
final class RequestPace: Sendable {
    enum Turn: Equatable {
        case go
        /// The caller tries again after this time.
        case wait(Duration)
        /// Apple has asked for no request before this time.
        case held(until: Timestamp)
    }

    private struct State {
        var nextTurn = Duration.zero
        var heldUntil = Timestamp.earliest
        /// Whether Apple's pause has delayed a request since the last sent one.
        var wasHeld = false
        var inFlight = 0
        var isAnswered = false
    }

    /// Maximum delay that is made up for.
    private static let arrearsMax = Duration.milliseconds(500)

    let interval: Duration
    private let state = Mutex(State())

    init(interval: Duration) { self.interval = interval }

    /// Takes the next turn, or returns the time to wait.
    ///
    /// - Parameters:
    ///   - now: the wall-clock time, compared with the end of Apple's pause.
    ///   - uptime: the time of a clock that is never adjusted, for the rate.
    func take(now: Timestamp, uptime: Duration) -> Turn {
        state.withLock { state in
            if now < state.heldUntil {
                state.wasHeld = true
                return .held(until: state.heldUntil)
            }
            if uptime < state.nextTurn { return .wait(state.nextTurn - uptime) }
            if !state.isAnswered, state.inFlight > 0 { return .wait(interval) }
            let earliest = state.wasHeld ? uptime : uptime - Self.arrearsMax
            state.nextTurn = max(state.nextTurn, earliest) + interval
            state.wasHeld = false
            state.inFlight += 1
            return .go
        }
    }

    /// Ends a request's turn.
    func end(isAnswered: Bool) {
        state.withLock { state in
            state.inFlight -= 1
            state.isAnswered = isAnswered
        }
    }

    /// Pauses all requests until this time; a later end stays in force.
    func hold(until time: Timestamp) { state.withLock { $0.heldUntil = max($0.heldUntil, time) } }

    /// Ends the pause.
    func release() { state.withLock { $0.heldUntil = .earliest } }
}

/// The value of a `Retry-After` header.
enum RetryAfter {
    /// The first time at which a request may be sent.
    ///
    /// `nil` unless the header is a whole number; an HTTP date is ignored.
    ///
    /// Apple sends UNIX milliseconds. A number below those of March 1973 is read as seconds from
    /// now (RFC 9110 §10.2.3). The pause is at least a second, also for a time in the past, and at most a
    /// day; hourly limits need at most an hour.
    static func time(_ text: String, now: Timestamp) -> Timestamp? {
        let digits = text.utf8
        let isNumber = digits.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard isNumber, !digits.isEmpty else { return nil }
        let number = Int64(text) ?? .max
        let (soonest, latest) = (now.milliseconds + 1_000, now.milliseconds + Timestamp.millisecondsPerDay)
        let time = number < earliestMilliseconds ? now.milliseconds + min(number, secondsPerDay) * 1_000 : number
        return Timestamp(milliseconds: min(max(time, soonest), latest))
    }

    private static let earliestMilliseconds: Int64 = 100_000_000_000
    private static let secondsPerDay = Timestamp.millisecondsPerDay / 1_000
}
