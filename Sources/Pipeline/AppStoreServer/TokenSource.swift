import AppStore
import JSON
import OpenSSL
import Synchronization

/// The JSON Web Token of the requests, made again before it expires.
///
/// Rules: Apple's "Generating JSON Web Tokens for API requests"; the signature is r and s, as JWS
/// has it (RFC 7518 §3.4).
final class TokenSource: Sendable {
    private struct Token {
        let text: String
        let issued: Int64
    }

    private struct State {
        var credentials: APICredentials
        var token: Token?
    }

    private let state: Mutex<State>

    /// Apple accepts up to an hour; half of it allows for a clock that is minutes behind Apple's.
    static let lifetimeSeconds: Int64 = 1_800
    /// A token is replaced long before it expires.
    private static let usableSeconds: Int64 = 240

    init(_ credentials: APICredentials) { state = Mutex(State(credentials: credentials)) }

    func replace(_ credentials: APICredentials) {
        state.withLock { state in
            let former = state.credentials
            precondition(
                (former.bundleID, former.environment) == (credentials.bundleID, credentials.environment),
                "a client asks for one app in one environment")
            state = State(credentials: credentials)
        }
    }

    /// Forgets the token, so that the next one has the clock's time.
    func discard() { state.withLock { $0.token = nil } }

    func token(at now: Timestamp) throws(KeyError) -> String {
        let seconds = now.wholeSeconds
        return try state.withLock { state throws(KeyError) in
            // A clock that is set back makes an issue date of the future.
            if let token = state.token, (token.issued..<token.issued + Self.usableSeconds).contains(seconds) {
                return token.text
            }
            let text = try Self.make(state.credentials, issued: seconds)
            state.token = Token(text: text, issued: seconds)
            return text
        }
    }

    private static func make(_ credentials: APICredentials, issued: Int64) throws(KeyError) -> String {
        var header = JSONWriter()
        header.object { header in
            header.optionalString("alg", "ES256")
            header.optionalString("kid", credentials.keyID)
            header.optionalString("typ", "JWT")
        }
        var claims = JSONWriter()
        claims.object { claims in
            claims.optionalString("iss", credentials.issuerID)
            claims.optionalInt("iat", issued)
            claims.optionalInt("exp", issued + lifetimeSeconds)
            claims.optionalString("aud", "appstoreconnect-v1")
            claims.optionalString("bid", credentials.bundleID)
        }
        let dot = [UInt8(ascii: ".")]
        let signed = Base64.url.encode(header.bytes) + dot + Base64.url.encode(claims.bytes)
        let signature = Base64.url.encode(try credentials.key.sign(signed))
        return String(decoding: signed + dot + signature, as: UTF8.self)
    }
}
