/// What every value of a document refers to: one reference to retain, whatever is handed around.
final class JSONStorage: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]

    init(bytes: [UInt8], nodes: [JSONNode]) {
        self.bytes = bytes
        self.nodes = nodes
    }
}
