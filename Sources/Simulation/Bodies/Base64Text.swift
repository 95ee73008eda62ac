internal import AppStore

/// Writes base64 as JWS and `x5c` want it.
package enum Base64Text {
    /// RFC 4648 §4, with padding.
    package static func standard(_ bytes: [UInt8]) -> [UInt8] {
        Base64.standard.encode(bytes)
    }

    /// RFC 4648 §5, without padding.
    package static func url(_ bytes: [UInt8]) -> [UInt8] {
        Base64.url.encode(bytes)
    }
}
