/// The store of a purchase; a value that Apple adds later keeps its own name.
package struct Environment: RawRepresentable, Hashable, Comparable, Sendable {
    private let name: Identifier

    package init(rawValue: String) { name = Identifier(rawValue) }

    package var rawValue: String { name.text }

    package static let production = Environment(rawValue: "Production")
    package static let sandbox = Environment(rawValue: "Sandbox")
    package static let xcode = Environment(rawValue: "Xcode")
    package static let localTesting = Environment(rawValue: "LocalTesting")

    /// The environments whose transaction IDs restart at 0, so that one ID names several
    /// transactions over time.
    package static let ofReusedIDs: Set<Environment> = [.xcode, .localTesting]

    package var reusesIDs: Bool { Environment.ofReusedIDs.contains(self) }

    package static func < (left: Environment, right: Environment) -> Bool { left.name < right.name }
}

/// The kind of a product; a value that Apple adds later keeps its own name.
package enum ProductType: Hashable, Sendable {
    case autoRenewable
    case nonConsumable
    case consumable
    case nonRenewing
    case other(Identifier)

    package init(rawValue: String) {
        let name = rawValue.utf8
        self = Self(known: name.span) ?? .other(Identifier(rawValue))
    }

    /// - Parameter name: UTF-8; no string is made for a known kind.
    package init(utf8 name: Span<UInt8>) {
        self =
            Self(known: name)
            ?? .other(Identifier(unsafe name.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }))
    }

    private init?(known name: Span<UInt8>) {
        if isName(name, "Auto-Renewable Subscription") {
            self = .autoRenewable
        } else if isName(name, "Consumable") {
            self = .consumable
        } else if isName(name, "Non-Consumable") {
            self = .nonConsumable
        } else if isName(name, "Non-Renewing Subscription") {
            self = .nonRenewing
        } else {
            return nil
        }
    }

    package var rawValue: String {
        switch self {
        case .autoRenewable: "Auto-Renewable Subscription"
        case .nonConsumable: "Non-Consumable"
        case .consumable: "Consumable"
        case .nonRenewing: "Non-Renewing Subscription"
        case .other(let name): name.text
        }
    }
}

/// The way in which a customer owns a purchase; a value that Apple adds later keeps its own name.
package enum OwnershipType: Hashable, Sendable {
    case purchased
    case familyShared
    /// A seat in a purchase by an organization or a group.
    case assigned
    case other(String)

    package init(rawValue: String) {
        let name = rawValue.utf8
        self =
            if isName(name.span, "PURCHASED") { .purchased } else if isName(name.span, "FAMILY_SHARED") {
                .familyShared
            } else if isName(name.span, "ASSIGNED") { .assigned } else { .other(rawValue) }
    }

    package var rawValue: String {
        switch self {
        case .purchased: "PURCHASED"
        case .familyShared: "FAMILY_SHARED"
        case .assigned: "ASSIGNED"
        case .other(let name): name
        }
    }
}

private func isName(_ name: Span<UInt8>, _ known: StaticString) -> Bool {
    guard name.count == known.utf8CodeUnitCount else { return false }
    for index in 0..<name.count where unsafe name[index] != known.utf8Start[index] { return false }
    return true
}
