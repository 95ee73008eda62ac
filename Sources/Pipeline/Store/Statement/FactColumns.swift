import AppStore
import Entitlements
import Postgres

extension Columns where Element: FactMembers {
    /// The columns of the members that the type of the fact declares.
    static var members: Columns {
        let declared = MemberColumns.declared(by: Element.self)
        return Columns(
            names: declared.map(\.name), types: declared.map(\.type),
            append: { fact, arrays, first in
                var fact = fact
                var row = MemberColumns(step: .writing, position: first)
                swap(&row.arrays, &arrays)
                fact.visitMembers(&row)
                swap(&row.arrays, &arrays)
            })
    }
}

extension RowReader where Row: FactMembers {
    /// Returns a reader that also reads the members that the fact declares.
    func withMembers() -> RowReader {
        let count = columns.count
        return RowReader(columns + MemberColumns.declared(by: Row.self)) { [read] row, first in
            var fact = read(row, first)
            var members = MemberColumns(step: .reading(row), position: first + count)
            fact.visitMembers(&members)
            return fact
        }
    }
}

/// Declares, writes or reads the columns of a fact's members one by one.
private struct MemberColumns: FactMemberVisitor {
    enum Step {
        case declaring
        case writing
        case reading(PostgresRow)
    }

    let step: Step
    var position = 0
    var arrays: [PostgresArray] = []
    var columns: [RowColumn] = []

    static func declared<Fact: FactMembers>(by _: Fact.Type) -> [RowColumn] {
        var fact = Fact.blank
        var declared = MemberColumns(step: .declaring)
        fact.visitMembers(&declared)
        return declared.columns
    }

    private mutating func column<Value: ColumnValue>(_ name: @autoclosure () -> String, _ value: inout Value) {
        switch step {
        case .declaring: columns.append(RowColumn(name: name(), type: Value.columnType))
        case .writing: value.append(to: &arrays[position])
        case .reading(let row): value = Value.read(row, position)
        }
        position += 1
    }

    mutating func visit(_ name: StaticString, _ value: inout some ColumnValue) { column(name.columnName, &value) }

    mutating func visit(_ name: StaticString, _ value: inout Timestamp?) { column("\(name.columnName)_ms", &value) }

    mutating func visit(_ name: StaticString, _ value: inout AccountToken?) { column("account_token", &value) }

    mutating func visit(_ name: StaticString, _ value: inout Revocation?) {
        var (date, percentage) = (value?.date, value?.percentage)
        var (reason, type) = (value?.reason, value?.type)
        column("revocation_date_ms", &date)
        column("revocation_percentage", &percentage)
        column("revocation_reason", &reason)
        column("revocation_type", &type)
        value = date.map { Revocation(date: $0, percentage: percentage, reason: reason, type: type) }
    }

    mutating func visit(_ name: StaticString, _ value: inout [CommerceItem]) {
        var stored = CommerceItem.stored(value)
        column(name.columnName, &stored)
        // A fact that is being written already has its items.
        if value.isEmpty, let stored { value = CommerceItem.items(stored: stored) }
    }
}
