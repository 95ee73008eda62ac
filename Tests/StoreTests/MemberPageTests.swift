import Foundation
import Postgres
import TestSupport
import Testing

@testable import AppStore

/// `schemas/postgres/MEMBERS.md`, compared with the members that the decoders name, and with the database.
@Suite(.timeLimit(.minutes(10))) struct MemberPageTests {
    private static func names<Field: PayloadField>(_ fields: Field.Type) -> Set<String> {
        Set(Field.allCases.map(\.rawValue)).union(Field.checked.values.joined())
    }

    private static func names(_ fields: [Int64: ReceiptField]) -> Set<String> {
        Set(fields.values.map { $0.name.description })
    }

    private static let decoded: [String: Set<String>] = [
        "Transaction": names(TransactionField.self), "Renewal info": names(RenewalField.self),
        "Notification": names(NotificationPayload.Field.self),
        "What a notification is about": names(NotificationSubject.Field.self),
        "App transaction": names(AppTransactionPayload.Field.self),
        "In-app record of a receipt": names(ReceiptField.ofRecord), "Receipt": names(ReceiptField.ofReceipt),
    ]

    /// The rows of the page's tables by their heading: the members, and where they are.
    private static func page() throws -> [String: [(members: [String], place: String)]] {
        let path = ReferenceScript.root.appending(path: "schemas/postgres/MEMBERS.md")
        var rows: [String: [(members: [String], place: String)]] = [:]
        for section in try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n## ").dropFirst() {
            let lines = section.split(separator: "\n")
            for line in lines where line.hasPrefix("| `") {
                let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
                let members = cells[0].matches(of: /`(\w+)`/).map { String($0.1) }
                rows[String(lines[0]), default: []].append((members, cells[1]))
            }
        }
        return rows
    }

    @Test func `each member that a decoder names has one place, or a reason to have none`() throws {
        let page = try Self.page()
        for (payload, names) in Self.decoded {
            let listed = page[payload, default: []].flatMap(\.members)
            #expect(Set(listed) == names, "\(payload)")
            #expect(listed.count == names.count, "\(payload)")
        }
        #expect(Set(page.keys) == Set(Self.decoded.keys))
    }

    @Test func `each place is a column, the answer that explains, or a reason`() async throws {
        let connection = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase())
        let columns = try await connection.query(
            "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public'")
        let known = Set(columns.map { $0.text(0) })
        for row in try Self.page().values.joined() {
            let named = row.place.matches(of: /`(\w+\.\w+)`/).map { String($0.1) }
            #expect(known.isSuperset(of: named), "\(row.place)")
            let isElsewhere = ["explain", "not shown, because ", "as in a ", "each in its own "].contains { place in
                row.place.hasPrefix(place)
            }
            #expect(!named.isEmpty || isElsewhere, "\(row.members): \(row.place)")
        }
        await connection.close()
    }
}
