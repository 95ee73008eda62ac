/// Runs work on several items at once.
enum SideBySide {
    /// Maximum items at once: ten for 50 requests a second of 200 ms each, and some for processing answers.
    static let itemsMax = 16

    /// Works until nothing is due any more; the first failure cancels all work.
    ///
    /// - Parameter due: returns the due items, including those in progress.
    static func work<Item: Identifiable & Sendable>(
        due: () async throws -> [Item], _ work: @escaping @Sendable (Item) async throws -> Void
    ) async throws where Item.ID: Sendable {
        try await withThrowingTaskGroup(of: Item.ID.self) { group in
            var inWork: Set<Item.ID> = []
            var queue: ArraySlice<Item> = []
            while true {
                if queue.isEmpty { queue = try await due().filter { !inWork.contains($0.id) }[...] }
                while inWork.count < itemsMax, let item = queue.popFirst() {
                    inWork.insert(item.id)
                    group.addTask {
                        try await work(item)
                        return item.id
                    }
                }
                guard let id = try await group.next() else { return }
                inWork.remove(id)
            }
        }
    }
}
