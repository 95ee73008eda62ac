package import AppStore

/// A fact whose optional members are each declared once.
///
/// An observation's head, the fact's table and `pipeline explain` use the declaration: each is a visitor. A member has
/// the name of its property, and a column the name from `columnName`.
package protocol FactMembers: Sendable {
    /// A fact without values, from which the members' names are read.
    static var blank: Self { get }

    /// Visits the members in the order of the head.
    mutating func visitMembers<Visitor: FactMemberVisitor>(_ visitor: inout Visitor) throws(Visitor.Failure)
}

/// A visitor that reads or writes the members of a fact, with a method for each kind of value.
package protocol FactMemberVisitor {
    associatedtype Failure: Error = Never

    mutating func visit(_ name: StaticString, _ value: inout Identifier?) throws(Failure)
    mutating func visit(_ name: StaticString, _ value: inout Bool?) throws(Failure)
    mutating func visit(_ name: StaticString, _ value: inout Int32?) throws(Failure)
    mutating func visit(_ name: StaticString, _ value: inout Timestamp?) throws(Failure)
    mutating func visit(_ name: StaticString, _ value: inout AccountToken?) throws(Failure)
    mutating func visit(_ name: StaticString, _ value: inout Revocation?) throws(Failure)
    mutating func visit(_ name: StaticString, _ value: inout [CommerceItem]) throws(Failure)
}

extension FactMemberVisitor {
    mutating func visit(_ name: StaticString, _ value: inout OwnershipType?) throws(Failure) {
        var text = value.map { Identifier($0.rawValue) }
        try visit(name, &text)
        value = text.map { OwnershipType(rawValue: $0.text) }
    }
}

extension StaticString {
    /// The name of a member in snake case: `web_order_line_item_id` for `webOrderLineItemID`.
    package var columnName: String {
        var column = ""
        var wasUppercase = true
        for letter in description {
            if letter.isUppercase, !wasUppercase { column += "_" }
            column += letter.lowercased()
            wasUppercase = letter.isUppercase
        }
        return column
    }
}
