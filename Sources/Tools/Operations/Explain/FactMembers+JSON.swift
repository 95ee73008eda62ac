import AppStore
package import Entitlements
package import JSON

extension JSONContent {
    /// The members that a fact declares, named as their columns; null for an absent one.
    static func members(of fact: some FactMembers) -> JSONContent {
        var fact = fact
        var explained = ExplainedMembers()
        fact.visitMembers(&explained)
        return .object(explained.members)
    }
}

private struct ExplainedMembers: FactMemberVisitor {
    private(set) var members: [(name: String, value: JSONContent)] = []

    mutating func visit(_ name: StaticString, _ value: inout some JSONRepresentable) {
        members.append((name.columnName, value.json))
    }

    /// The token itself is the customer's.
    mutating func visit(_ name: StaticString, _ value: inout AccountToken?) {
        members.append(("has_account_token", .bool(value != nil)))
    }
}

extension Revocation: JSONRepresentable {
    package var json: JSONContent { ["date": date, "percentage": percentage, "reason": reason, "type": type] }
}

extension CommerceItem: JSONRepresentable {
    package var json: JSONContent {
        [
            "sku": sku, "revocation_date": revocationDate, "refund_date": refund?.date, "refund_amount": refund?.amount,
            "price": refund?.price,
        ]
    }
}
