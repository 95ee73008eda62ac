import HTTP
import Synchronization

/// Makes guessing passwords slow: after a few failures from one network or for one name, each
/// further attempt has to wait twice as long as the one before.
///
/// An attempt counts as failed until it succeeds, so that a hundred attempts at once are no faster than one after the
/// other. The wait for a name stays short, because anyone can cause failures under another user's name.
final class SignInThrottle: Sendable {
    private struct Failures {
        var count = 0
        var last: ContinuousClock.Instant

        func wait(_ waitMax: Duration, now: ContinuousClock.Instant) -> Duration {
            guard count >= SignInThrottle.freeMax else { return .zero }
            let pause = min(Duration.seconds(1 << min(count - SignInThrottle.freeMax, 20)), waitMax)
            return max(.zero, last + pause - now)
        }
    }

    private enum Key: Hashable {
        case network(PeerNetwork)
        case name(String)

        var waitMax: Duration {
            switch self {
            case .network: .seconds(900)
            case .name: .seconds(60)
            }
        }
    }

    /// Maximum failures without a wait.
    private static let freeMax = 5
    /// Maximum networks and names; above it, those that failed longest ago are dropped.
    private static let keysMax = 20_000
    private static let forgottenAfter = Duration.seconds(3600)

    private let failures = Mutex<[Key: Failures]>([:])

    /// Begins an attempt.
    ///
    /// - Returns: the wait until the next attempt; `nil` if this one may proceed.
    func begin(_ network: PeerNetwork, _ name: String, now: ContinuousClock.Instant = .now) -> Duration? {
        failures.withLock { failures in
            let keys: [Key] = [.network(network), .name(name)]
            let wait = keys.compactMap { key in failures[key].map { $0.wait(key.waitMax, now: now) } }.max()
            if let wait, wait > .zero { return wait }
            for key in keys {
                if let last = failures[key]?.last, now - last > Self.forgottenAfter { failures[key] = nil }
                failures[key, default: Failures(last: now)].count += 1
                failures[key]?.last = now
            }
            if failures.count > Self.keysMax {
                let kept = failures.sorted { $0.value.last > $1.value.last }.prefix(Self.keysMax / 2)
                failures = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
            }
            return nil
        }
    }

    /// Forgets the name's failures, and only this attempt of the network.
    ///
    /// Otherwise one good password would give an attacker more guesses at other users.
    func succeeded(_ network: PeerNetwork, _ name: String) {
        failures.withLock { failures in
            failures[.name(name)] = nil
            let key = Key.network(network)
            guard let count = failures[key]?.count else { return }
            failures[key]?.count = count - 1
            if count <= 1 { failures[key] = nil }
        }
    }
}
