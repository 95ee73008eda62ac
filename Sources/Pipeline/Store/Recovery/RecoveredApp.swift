package import AppStore

/// An app in one environment that Apple's server is asked about.
package struct RecoveredApp: Hashable, Sendable {
    package let environment: Environment
    package let bundleID: Identifier

    package init(environment: Environment, bundleID: Identifier) {
        self.environment = environment
        self.bundleID = bundleID
    }

    static let reader = RowReader(RecoveredApp.init, "environment", "bundle_id")

    /// The parameters `$environment` and `$bundle_id` of a statement about one app.
    static func parameters<Input>(_ app: @escaping @Sendable (Input) -> RecoveredApp) -> [Parameter<Input>] {
        [.value("environment") { app($0).environment }, .value("bundle_id") { app($0).bundleID }]
    }
}
