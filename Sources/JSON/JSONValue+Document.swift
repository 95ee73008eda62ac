extension JSONValue {
    /// The bytes of the whole document, which `range` and `plainStringRange` refer to.
    package var documentBytes: [UInt8] { storage.bytes }
}
