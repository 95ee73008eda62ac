/// The outer structure of a PKCS #7 message: where its certificates lie, and that it is of bounded
/// size and depth, so that it may be parsed.
package struct MessageOutline: Sendable {
    package let ber: [UInt8]
    /// As they stand in the message, in its order; X.509 has not been looked at.
    package let certificates: [[UInt8]]

    /// Looks over one message that fills `ber`.
    ///
    /// - Parameters:
    ///   - certificateCounts: how many certificates it may hold.
    ///   - certificateBytesMax: how large each may be.
    package init(
        ber: [UInt8],
        certificateCounts: [Int],
        certificateBytesMax: Int
    ) throws(SignedMessageError) {
        switch BERScan.outcome(of: ber) {
        case .malformed: throw .notBER
        case .trailingBytes: throw .trailingBytes
        case .certificates(let ranges):
            guard certificateCounts.contains(ranges.count) else {
                throw .certificateCount(ranges.count)
            }
            guard ranges.allSatisfy({ $0.count <= certificateBytesMax }) else {
                throw .certificateTooLarge
            }
            self.ber = ber
            certificates = ranges.map { Array(ber[$0]) }
        }
    }
}
