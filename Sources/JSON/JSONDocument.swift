/// A parsed document: the original bytes, and where each value lies in them.
///
/// Values are spans into the bytes and are converted when asked for, so a number that no machine
/// type holds survives, and a value can be spliced elsewhere exactly as it was written.
package struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Reads one document in one pass, without recursion.
    ///
    /// - Throws: the first fault in the order of the bytes; a doubled key in an object of many
    ///   members is seen at the object's end.
    package init(
        parsing bytes: [UInt8],
        limits: JSONLimits = .standard,
        policy: JSONPolicy = .strict
    ) throws(JSONError) {
        var parser = JSONParser(limits: limits, policy: policy)
        try parser.parse(bytes.span)
        storage = JSONStorage(bytes: bytes, nodes: parser.nodes)
    }

    package var bytes: [UInt8] { storage.bytes }

    package var root: JSONValue { JSONValue(storage: storage, index: 0) }
}
