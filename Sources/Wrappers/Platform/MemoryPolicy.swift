import CMalloc

/// The policy by which glibc's allocator keeps memory in a worker.
package enum MemoryPolicy {
    /// Sets the policy; called once, before the first thread is started.
    ///
    /// Batches are allocated on one thread and freed on another. If each thread had an arena, each arena would keep
    /// the memory of its largest batch. glibc also raises its threshold for blocks that it returns to the system at
    /// once when the first large block is freed: a single large body would increase the memory of a worker permanently
    /// (mallopt(3)).
    package static func apply() { malloc_set_policy(arenasMax, mappedBytesMin, trimBytes) }

    private static let arenasMax: Int32 = 1
    /// Minimum size of a block that goes back to the system when it is freed.
    ///
    /// The usual blocks of a batch are smaller: mapping each again, page by page, would cost more than keeping them.
    private static let mappedBytesMin: Int32 = 1 << 20
    /// Maximum unused bytes at the end of the heap.
    private static let trimBytes: Int32 = 8 << 20
}
