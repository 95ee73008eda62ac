/// Why bytes are not a PKCS #7 message that this product reads.
package enum SignedMessageError: Error, Hashable, Sendable {
    /// Not BER within the bounds of depth and number of elements, or cut off.
    case notBER
    /// One message, and something after it.
    case trailingBytes
    /// BER, but not the structure of SignedData over data.
    case notSignedData
    /// The message signs something that it does not hold.
    case noContent
    case certificateCount(Int)
    case certificateTooLarge
    case signerCount(Int)
}
