import OpenSSL
import Synchronization

/// The tables of leaf keys that sign repeatedly, shared by all verifiers of a configuration.
///
/// A table costs as much as about 500 signatures and halves the cost of each. A key gets a table after a verifier has
/// found a thousand valid signatures of the key: only the holder of a certified key can cause a table. A table exists
/// as long as a verifier caches a chain of its leaf.
package final class KeyTables: Sendable {
    private struct Entry {
        let leaf: SHA256Digest
        var isBeingMade = true
        weak var table: P256KeyTable?
    }

    private let tablesMax: Int
    private let entries = Mutex<[Entry]>([])

    init(tablesMax: Int) { self.tablesMax = tablesMax }

    package var count: Int { entries.withLock { $0.count { $0.table != nil } } }

    /// The table of a leaf's key, which the first call makes.
    ///
    /// `nil` while another thread makes the table, if the maximum is in use, or if OpenSSL fails to make the table.
    func table(of key: P256PublicKey, leaf: SHA256Digest) -> P256KeyTable? {
        let (known, isOurs) = entries.withLock { entries in
            entries.removeAll { !$0.isBeingMade && $0.table == nil }
            if let entry = entries.first(where: { $0.leaf == leaf }) { return (entry.table, false) }
            guard entries.count < tablesMax else { return (nil, false) }
            entries.append(Entry(leaf: leaf))
            return (nil, true)
        }
        guard isOurs else { return known }
        let table = P256KeyTable(key: key)
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.leaf == leaf }) else { return }
            entries[index].table = table
            entries[index].isBeingMade = false
        }
        return table
    }
}
