import AppStore
import JSON

/// A compact JWS whose signature nobody has checked.
struct UnverifiedJWS {
    let header: JSONValue
    let payload: JSONValue
    /// The bytes that the signature covers.
    let signedBytes: [UInt8]
    let signature: [UInt8]

    /// Reads a JWS.
    ///
    /// `nil` unless it is three segments, the first two of them JSON.
    init?(_ bytes: [UInt8]) {
        let segments = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3, let header = Self.decode(segments[0]).flatMap(Self.json),
            let payload = Self.decode(segments[1]).flatMap(Self.json), let signature = Self.decode(segments[2])
        else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signedBytes = Array(bytes[..<segments[1].endIndex])
    }

    private static func decode(_ segment: ArraySlice<UInt8>) -> [UInt8]? {
        let copy = Array(segment)
        return Base64.url.decode(copy.span)
    }

    private static func json(_ bytes: [UInt8]) -> JSONValue? { try? JSONDocument(parsing: bytes).root }
}
