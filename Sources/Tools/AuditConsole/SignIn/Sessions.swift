import Foundation
import OpenSSL
import Synchronization

enum SignInMethod: Hashable, Sendable {
    /// A sign-in by a password with this hash; the session ends when the user's password changes.
    case password(PasswordHash)
    case proxy
}

/// The signed-in user of a request.
struct Visitor: Sendable {
    let name: UserName
    let role: ConsoleRole
    let method: SignInMethod
    /// The session's secret, which the cookie holds.
    let sessionID: String
}

/// The signed-in users, kept in memory: a restart signs everybody out.
///
/// The table holds hashes of the IDs, so that neither a copy of the memory nor the time of a lookup
/// reveals a valid ID.
final class Sessions: Sendable {
    private struct Session {
        let name: UserName
        let role: ConsoleRole
        let method: SignInMethod
        let began: ContinuousClock.Instant
        var lastSeen: ContinuousClock.Instant
    }

    /// Maximum sessions; above it, the session with the oldest request is dropped.
    private static let countMax = 10_000
    private static let idBytes = 32

    private let idleMax: Duration
    private let durationMax: Duration
    private let sessions = Mutex<[SHA256Digest: Session]>([:])

    init(idleMax: Duration, durationMax: Duration) {
        self.idleMax = idleMax
        self.durationMax = durationMax
    }

    /// Begins a session with a new ID, whatever ID the request contains.
    func begin(_ name: UserName, _ role: ConsoleRole, by method: SignInMethod, now: ContinuousClock.Instant = .now)
        -> Visitor
    {
        let id = SecretText.make(Self.idBytes)
        sessions.withLock { sessions in
            if sessions.count >= Self.countMax {
                let oldest = sessions.min { $0.value.lastSeen < $1.value.lastSeen }
                if let oldest { sessions[oldest.key] = nil }
            }
            sessions[Self.key(id)] = Session(name: name, role: role, method: method, began: now, lastSeen: now)
        }
        return Visitor(name: name, role: role, method: method, sessionID: id)
    }

    /// Finds the session of an ID and marks it as seen now.
    ///
    /// `nil` if the ID is unknown or the session has expired.
    ///
    /// - Parameter isRefresh: whether the page's script sends the request, while the user may be away. A session with
    ///   a password is then not marked as seen. The proxy decides how long its own users stay signed in.
    func visitor(_ id: String, isRefresh: Bool = false, now: ContinuousClock.Instant = .now) -> Visitor? {
        sessions.withLock { sessions in
            let key = Self.key(id)
            guard let session = sessions[key] else { return nil }
            guard now - session.lastSeen <= idleMax, now - session.began <= durationMax else {
                sessions[key] = nil
                return nil
            }
            if !isRefresh || session.method == .proxy { sessions[key]?.lastSeen = now }
            return Visitor(name: session.name, role: session.role, method: session.method, sessionID: id)
        }
    }

    func end(_ id: String) { sessions.withLock { $0[Self.key(id)] = nil } }

    private static func key(_ id: String) -> SHA256Digest { SHA256.digest(Array(id.utf8)) }
}

/// Random bytes as text that fits a cookie, a form and a link.
enum SecretText {
    static func make(_ bytes: Int) -> String { text(RandomBytes.make(bytes)) }

    /// Encodes bytes as Base64 for URLs, without padding.
    static func text(_ bytes: [UInt8]) -> String {
        let characters = Data(bytes).base64EncodedString().compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        }
        return String(characters)
    }
}

/// The tokens of forms, each for one cookie, so that no foreign page can post the form.
struct FormTokens: Sendable {
    private let key = RandomBytes.make(32)

    /// The token of forms for the browser with this cookie.
    func token(_ cookie: String) -> String { SecretText.text(HMAC.sha256(key: key, Array(cookie.utf8)).bytes) }

    func isRight(_ token: String, for cookie: String) -> Bool {
        SecretComparison.isEqual(Array(token.utf8), Array(self.token(cookie).utf8))
    }
}
