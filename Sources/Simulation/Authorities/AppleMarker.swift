/// The extensions by which Apple marks the certificates of its receipt signers.
package enum AppleMarker {
    package static let leaf = "1.2.840.113635.100.6.11.1"
    package static let intermediate = "1.2.840.113635.100.6.2.1"
}
