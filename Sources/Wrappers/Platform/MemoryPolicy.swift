import CMalloc

/// The policy by which a worker's allocator keeps memory, where it is glibc's.
package enum MemoryPolicy {
    /// Called once, before the first thread is started.
    ///
    /// Batches are allocated on one thread and freed on another. With an arena per thread each
    /// keeps the largest batch that it has ever held; and glibc raises its own threshold for blocks
    /// that are given back to the system at once with the first large one that is freed, so that a
    /// single large body would raise a worker for good (mallopt(3)).
    package static func apply() { malloc_set_policy(arenasMax, mappedBytesMin, trimBytes) }

    private static let arenasMax: Int32 = 1
    /// A block from this size on goes back to the system when it is freed.
    ///
    /// A batch's usual ones are smaller: mapping each again, page by page, would cost more than
    /// keeping them.
    private static let mappedBytesMin: Int32 = 1 << 20
    /// Maximum unused bytes at the end of the heap.
    private static let trimBytes: Int32 = 8 << 20
}
