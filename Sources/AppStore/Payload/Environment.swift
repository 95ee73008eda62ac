/// The store a purchase was made in; a value that Apple adds later keeps its own name.
package struct Environment: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let production = Environment(rawValue: "Production")
    package static let sandbox = Environment(rawValue: "Sandbox")
    package static let xcode = Environment(rawValue: "Xcode")
    package static let localTesting = Environment(rawValue: "LocalTesting")

    package static func < (left: Environment, right: Environment) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The kind of a product; a value that Apple adds later keeps its own name.
package enum ProductType: Hashable, Sendable {
    case autoRenewable
    case nonConsumable
    case consumable
    case nonRenewing
    case other(String)

    package init(rawValue: String) {
        switch rawValue {
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Consumable": self = .nonConsumable
        case "Consumable": self = .consumable
        case "Non-Renewing Subscription": self = .nonRenewing
        default: self = .other(rawValue)
        }
    }

    init(_ text: PayloadText) {
        if text.equals("Auto-Renewable Subscription") {
            self = .autoRenewable
        } else {
            self.init(rawValue: text.string)
        }
    }

    package var rawValue: String {
        switch self {
        case .autoRenewable: "Auto-Renewable Subscription"
        case .nonConsumable: "Non-Consumable"
        case .consumable: "Consumable"
        case .nonRenewing: "Non-Renewing Subscription"
        case .other(let name): name
        }
    }
}
