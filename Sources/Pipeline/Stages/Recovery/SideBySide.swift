/// Work on several items at once.
enum SideBySide {
    /// 50 requests a second at 200 ms each, and some for what is done with the answers.
    static let itemsMax = 16

    /// Works until nothing is due any more; the first failure ends it, and what is in work.
    ///
    /// - Parameter due: items that are due, those in work among them.
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
