package import AppStore
package import Entitlements
package import Postgres

/// A value that is stored by its name in a column of type `text`.
package protocol TextColumnValue: ColumnValue {
    var columnText: String { get }

    /// Returns `nil` if no value has this text.
    init?(columnText: String)
}

extension TextColumnValue {
    package static var columnType: PostgresType { .text }
    package func append(to array: inout PostgresArray) { array.append(columnText) }
    package var parameter: PostgresValue { .text(columnText) }

    package static func read(_ row: PostgresRow, _ position: Int) -> Self {
        guard let value = Self(columnText: row.text(position)) else {
            preconditionFailure("the column holds a text that no \(Self.self) has")
        }
        return value
    }
}

extension TextColumnValue where Self: RawRepresentable, RawValue == String {
    package var columnText: String { rawValue }

    package init?(columnText: String) { self.init(rawValue: columnText) }
}

extension Environment: TextColumnValue {}

extension Track: TextColumnValue {}

extension RenewalSpan.Kind: TextColumnValue {}

extension NotificationMeaning: TextColumnValue {}

/// The stored rules; a rule of a later program version is read as `unlinked`.
extension OwnershipRule: TextColumnValue {
    package init?(columnText: String) { self = OwnershipRule(rawValue: columnText) ?? .unlinked }
}

extension OwnershipPolicy: TextColumnValue {}

extension ImmutableField: TextColumnValue {}

extension Trust: TextColumnValue {
    package var columnText: String { text }

    package init?(columnText: String) { self.init(text: columnText) }
}

extension ProductType: TextColumnValue {
    package var columnText: String { rawValue }

    package init?(columnText: String) { self.init(rawValue: columnText) }

    package static func read(_ row: PostgresRow, _ position: Int) -> ProductType {
        guard let type = row.withBytes(position, { ProductType(utf8: $0) }) else {
            preconditionFailure("the column is NULL although its reader requires a product type")
        }
        return type
    }
}

extension OwnershipType: TextColumnValue {
    package var columnText: String { rawValue }

    package init?(columnText: String) { self.init(rawValue: columnText) }
}

/// The stored answers; one of a later program version is read as none.
extension SubscriptionStatus.PriceIncrease: TextColumnValue {
    package static func readOptional(_ row: PostgresRow, _ position: Int) -> Self? {
        row.optionalText(position).flatMap { Self(rawValue: $0) }
    }
}

extension AccountToken: TextColumnValue {
    package var columnText: String { canonical }

    package init?(columnText: String) { self.init(columnText) }

    package func append(to array: inout PostgresArray) {
        let text = text
        array.append(utf8: text.span)
    }

    /// Reads a token.
    ///
    /// `nil` for NULL, and for a text that is not a token.
    package static func readOptional(_ row: PostgresRow, _ position: Int) -> AccountToken? {
        row.withBytes(position) { AccountToken($0) } ?? nil
    }
}

extension Identifier: TextColumnValue {
    package var columnText: String { text }

    package init(columnText: String) { self.init(columnText) }

    package func append(to array: inout PostgresArray) { withUTF8 { array.append(utf8: $0) } }

    package static func read(_ row: PostgresRow, _ position: Int) -> Identifier {
        guard let identifier = row.withBytes(position, { Identifier(utf8: $0) }) else {
            preconditionFailure("the column is NULL although its reader requires an identifier")
        }
        return identifier
    }
}
