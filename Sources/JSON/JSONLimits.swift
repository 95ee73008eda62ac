/// What a document may hold at most, so that hostile input costs a bounded amount of memory.
package struct JSONLimits: Sendable, Equatable {
    /// How many containers may be open at once.
    package var depthMax: Int
    /// How many values and keys a document may hold together.
    package var nodesMax: Int

    package init(depthMax: Int = 64, nodesMax: Int = 100_000) {
        precondition(depthMax >= 0 && nodesMax >= 0, "limits are counts")
        self.depthMax = depthMax
        self.nodesMax = nodesMax
    }

    package static let standard = JSONLimits()
}
