import AppStore
import Holdings
import JSON
import Store

/// Changes that are published together, and the newest states of their users.
struct FeedBatch {
    let changes: [OutboxTable.Change]
    private let held: [Identifier: HeldEntitlements]
    /// The subscriptions of each user as JSON; `nil` if states do not list them.
    private let subscriptions: [Identifier: [JSONText]]?
    private let suspectThrough: Int64
    /// Users without entitlements whose links were removed on their request.
    var forgotten: Set<Identifier> = []

    /// - Parameter suspectThrough: see `FeedLease.hold`.
    init(_ batch: OutboxTable.Batch, suspectThrough: Int64) {
        self.suspectThrough = suspectThrough
        changes = batch.changes
        held = HeldEntitlements.byUser(batch.held)
        subscriptions = batch.subscriptions.map { Dictionary(grouping: $0, by: \.userID).mapValues { $0.map(\.json) } }
    }

    static let empty = FeedBatch()

    private init() {
        changes = []
        held = [:]
        subscriptions = nil
        suspectThrough = 0
    }

    var userIDs: Set<Identifier> { Set(changes.map(\.change.userID)) }

    var userIDsHoldingNothing: [Identifier] { userIDs.filter { held[$0]?.list.isEmpty ?? true } }

    /// Users of records that were sent before this batch and may still reach the broker.
    var suspectUserIDs: Set<Identifier> { Set(changes.filter { $0.id <= suspectThrough }.map(\.change.userID)) }

    /// The records of the changes, in order, then of each user's state, which includes the changes.
    ///
    /// The state of a forgotten user is a tombstone, by which compaction removes the former states.
    ///
    /// - Parameter bytesMax: maximum bytes of a record; an incomplete record states its omissions.
    func records(_ topics: FeedTopics, bytesMax: Int) -> FeedRecords {
        var written = FeedRecords()
        for (_, change, _) in changes {
            let room = bytesMax - change.userID.byteCount
            written.append(change.value(bytesMax: room), topic: topics.changed, userID: change.userID)
        }
        let newest = changes.map { ($0.change.userID, $0.newestVersion) }
        for (userID, version) in Dictionary(newest, uniquingKeysWith: { $1 }) {
            if forgotten.contains(userID) {
                written.appendTombstone(topic: topics.current, userID: userID)
                continue
            }
            let room = bytesMax - userID.byteCount
            written.append(state(of: userID, version, bytesMax: room), topic: topics.current, userID: userID)
        }
        return written
    }

    /// A value by `entitlements.current.schema.json`.
    ///
    /// `nil` if nothing fits.
    private func state(of userID: Identifier, _ version: Int64, bytesMax: Int) -> (bytes: [UInt8], isWhole: Bool)? {
        // JSON escaping expands a byte of an ID to at most six bytes.
        let room = bytesMax - 6 * userID.byteCount - Self.frameBytes
        guard room > 0, let held = held[userID] else { return nil }
        let list = HeldList(held, bytesMax: room)
        var omission = list.omission
        var writer = JSONWriter(reserving: Self.frameBytes + list.json.count)
        writer.beginFeedObject(userID: userID, version: version)
        writer.key("asOf")
        writer.int(held.asOf.milliseconds)
        writer.key("entitlements")
        writer.raw(list.json)
        if let all = subscriptions {
            let known = all[userID] ?? []
            var rest = room - list.json.count
            let fitting = known.prefix(OutboxTable.subscriptionsMax).prefix { json in
                rest -= json.bytes.count + 1
                return rest >= 0
            }
            if fitting.count < known.count { omission = (omission ?? HeldOmission()).ofSubscriptions }
            writer.key("subscriptions")
            writer.array { writer in for json in fitting { writer.raw(json.bytes) } }
        }
        if let omission {
            writer.key("omitted")
            writer.raw(omission.json)
        }
        writer.endObject()
        return (writer.bytes, omission == nil)
    }

    /// Maximum bytes of a record besides the user ID and the list.
    private static let frameBytes = 256
}
