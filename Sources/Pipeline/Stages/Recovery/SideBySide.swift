import AppStoreServer

/// Runs work on several items at once.
enum SideBySide {
    /// Maximum items at once: ten for 50 requests a second of 200 ms each, and some for processing answers.
    static let itemsMax = 16

    /// Works until nothing is due any more, or an item fails.
    ///
    /// After a failure no item begins any more. A failure of Apple's server cancels those in progress, because each
    /// would fail too. After another failure they go on to their end: cancelled, they would repeat what Apple has done
    /// already, and an item that always fails would hold up all others.
    ///
    /// Throws the first failure.
    ///
    /// - Parameter due: returns the due items, including those in progress.
    static func work<Item: Identifiable & Sendable>(
        due: () async throws -> [Item], _ work: @escaping @Sendable (Item) async throws -> Void
    ) async throws where Item.ID: Sendable {
        try await withThrowingTaskGroup(of: Item.ID.self) { group in
            var inWork: Set<Item.ID> = []
            var queue: ArraySlice<Item> = []
            var failure: (any Error)?
            while true {
                if queue.isEmpty, failure == nil { queue = try await due().filter { !inWork.contains($0.id) }[...] }
                while failure == nil, inWork.count < itemsMax, let item = queue.popFirst() {
                    inWork.insert(item.id)
                    group.addTask {
                        try await work(item)
                        return item.id
                    }
                }
                do {
                    guard let id = try await group.next() else { break }
                    inWork.remove(id)
                } catch {
                    failure = failure ?? error
                    if error is APIFailure { group.cancelAll() }
                }
            }
            if let failure { throw failure }
        }
    }
}
