/// The three segments of a compact JWS (RFC 7515 §3.1), as ranges of its token's bytes.
struct CompactJWS {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// The bytes that are signed: header, dot and payload.
    var signed: Range<Int> { header.lowerBound..<payload.upperBound }

    /// - Parameter headerEnd: where the first dot is, if that is known.
    init(_ token: Token, headerEnd: Int? = nil) throws(Fault) {
        let bytes = token.bytes
        let dot = UInt8(ascii: ".")
        let range = token.range
        guard let first = headerEnd ?? ByteSearch.first(dot, in: bytes.span, range),
            let second = ByteSearch.first(dot, in: bytes.span, first + 1..<range.upperBound)
        else { throw Fault(.jwsMalformed, "a compact JWS has three segments, this has fewer") }
        let third = ByteSearch.first(dot, in: bytes.span, second + 1..<range.upperBound)
        guard third == nil else {
            throw Fault(.jwsMalformed, "a compact JWS has three segments, this has more")
        }
        header = range.lowerBound..<first
        payload = first + 1..<second
        signature = second + 1..<range.upperBound
    }
}
