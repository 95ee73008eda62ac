import Foundation

/// Foundation's reader of base64, for tests that look into a JWS.
enum Base64Decoding {
    static func standard(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map { [UInt8]($0) } }

    static func url(_ text: String) -> [UInt8]? {
        let standardText = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return standard(standardText + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
    }
}
