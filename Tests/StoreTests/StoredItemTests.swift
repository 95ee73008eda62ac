import AppStore
import Entitlements
import JSON
import TestSupport
import Testing

@testable import Store

/// Stored items are read again, however many they are.
@Suite struct StoredItemTests {
    @Test func `more items than a stranger's body may have are read again`() throws {
        let items = (0..<60_000).map { CommerceItem(sku: "sku.\($0)") }
        let stored = try #require(CommerceItem.stored(items))
        // A body of that many values is refused.
        #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(stored.bytes)) }
        #expect(CommerceItem.items(stored: stored) == items)
    }

    @Test func `more former owners than a stranger's body may have are read again`() {
        let spans = (0..<60_000).map { number in
            OwnershipSpan(
                userID: number % 2 == 0 ? "anna" : "bob", from: number == 0 ? nil : .init(milliseconds: Int64(number)))
        }
        let ownership = Ownership(spans: spans, rule: .accountToken)
        let owner = StoredOwner(ownership, directUserID: nil, appTransactionID: nil)
        #expect(owner.ownership == ownership)
    }
}
