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
