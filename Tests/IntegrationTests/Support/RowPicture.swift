/// The rows that are a fold of the facts, as text: what the database holds, or has to hold.
struct RowPicture: Equatable, Sendable {
    /// The fields of every row, by table.
    private(set) var tables: [String: Set<String>] = [:]

    mutating func add(_ table: String, _ fields: [String?]) {
        let row = fields.map { $0 ?? "∅" }.joined(separator: " | ")
        tables[table, default: []].insert(row)
    }

    func count(_ table: String) -> Int { tables[table]?.count ?? 0 }

    /// Where this is other than it has to be: some lines of each table.
    func differences(from expected: RowPicture) -> [String] {
        let names = Set(tables.keys).union(expected.tables.keys).sorted()
        return names.flatMap { name in
            let (found, wanted) = (tables[name] ?? [], expected.tables[name] ?? [])
            let missing = wanted.subtracting(found).sorted()
            let surplus = found.subtracting(wanted).sorted()
            return missing.prefix(Self.shownMax).map { "\(name): missing \($0)" }
                + surplus.prefix(Self.shownMax).map { "\(name): not expected \($0)" }
                + (max(missing.count, surplus.count) > Self.shownMax
                    ? ["\(name): \(missing.count) missing, \(surplus.count) not expected"] : [])
        }
    }

    private static let shownMax = 4
}
