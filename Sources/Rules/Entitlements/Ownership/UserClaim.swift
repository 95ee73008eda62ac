package import AppStore
import OpenSSL

/// The unsigned user that the ingestion service names beside a signed transaction.
package struct UserClaim: Hashable, Sendable {
    package var transactionID: Identifier
    package var purchaseDate: Timestamp
    /// The position of the raw record whose header named the user.
    package var position: RawPosition
    package var userID: Identifier

    package init(transactionID: Identifier, purchaseDate: Timestamp, position: RawPosition, userID: Identifier) {
        self.transactionID = transactionID
        self.purchaseDate = purchaseDate
        self.position = position
        self.userID = userID
    }

    /// Whether this claim takes precedence over another.
    ///
    /// If two users are named beside one transaction, the claim in the earliest raw record counts, so that nobody
    /// takes over a purchase by posting a copy of its transaction, unless the rules move restored purchases.
    func precedes(_ other: UserClaim) -> Bool {
        (purchaseDate, transactionID, position) < (other.purchaseDate, other.transactionID, other.position)
    }
}

/// The position of a raw record, ordered by the broker's timestamp, then partition and offset.
package struct RawPosition: Hashable, Comparable, Sendable {
    /// The broker's timestamp; a record without one is later than all others.
    package var timestamp: Timestamp
    package var partition: Int32
    package var offset: Int64

    package init(timestamp: Timestamp, partition: Int32, offset: Int64) {
        self.timestamp = timestamp
        self.partition = partition
        self.offset = offset
    }

    package static func < (left: RawPosition, right: RawPosition) -> Bool {
        (left.timestamp, left.partition, left.offset) < (right.timestamp, right.partition, right.offset)
    }

    /// A revision that grows as the position gets earlier, so that storing the greatest revision of an ID stores the
    /// earliest record.
    package var earliestFirst: Revision {
        var bytes: [UInt8] = []
        for shift in stride(from: 24, through: 0, by: -8) {
            bytes.append(~UInt8(truncatingIfNeeded: partition >> Int32(shift)))
        }
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(~UInt8(truncatingIfNeeded: offset >> Int64(shift)))
        }
        bytes += Array(repeating: 0, count: SHA256Digest.byteCount - bytes.count)
        return Revision(
            signedDate: Timestamp(milliseconds: ~timestamp.milliseconds),
            contentHash: SHA256Digest(bytes) ?? SHA256.digest(bytes))
    }
}
