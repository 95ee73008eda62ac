import AppStore
import JSON
import OpenSSL
import Synchronization

/// The source of the requests' JSON Web Token, which is replaced before it expires.
///
/// Apple's "Generating JSON Web Tokens for API requests" has the rules; the signature is r and s,
/// as in JWS (RFC 7518 §3.4).
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

    /// Lifetime of a token: Apple accepts up to an hour; half of that tolerates a clock minutes behind Apple's.
    static let lifetimeSeconds: Int64 = 1_800
    /// Time after which a token is replaced, long before it expires.
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

    /// Discards the token, so that the next one is issued at the current time.
    func discard() { state.withLock { $0.token = nil } }

    func token(at now: Timestamp) throws(KeyError) -> String {
        let seconds = now.wholeSeconds
        return try state.withLock { state throws(KeyError) in
            // The issue date is in the future if the clock was set back.
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
