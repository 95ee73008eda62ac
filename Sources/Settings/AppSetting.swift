/// One app of the company in one of Apple's environments, as configured.
package struct AppSetting: Hashable, Sendable {
    package let bundleID: String

    /// `Production`, `Sandbox`, `Xcode`, `LocalTesting`, or one that Apple adds later.
    package let environment: String

    /// Apple's number of the app; there in Production.
    package let appAppleID: Int64?

    /// Files of the app's own roots instead of Apple's pinned ones; empty in the usual case.
    package let rootFiles: [String]

    /// Said by the operator where `rootFiles` vouch for Production.
    package let isTestRootInProduction: Bool

    package init(
        bundleID: String,
        environment: String,
        appAppleID: Int64? = nil,
        rootFiles: [String] = [],
        isTestRootInProduction: Bool = false
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.appAppleID = appAppleID
        self.rootFiles = rootFiles
        self.isTestRootInProduction = isTestRootInProduction
    }
}
