package import AppStore
package import OpenSSL
package import Simulation

extension DemoTraffic {
    /// The apps as the settings of the traffic's pipeline have them.
    package func configuredApps() throws -> [ConfiguredApp] {
        let roots = try roots.map { try Certificate(der: $0) }
        return apps.map { app in
            ConfiguredApp(
                bundleID: Identifier(app.bundleID), environment: Environment(rawValue: app.environment),
                appAppleID: app.appAppleID, roots: roots, hasTestRootInProduction: true)
        }
    }
}

extension ConfiguredApp {
    /// The demo's first app, which these roots vouch for.
    package static func pro(trusting roots: [Certificate]) -> ConfiguredApp {
        ConfiguredApp(
            bundleID: Identifier(DemoApp.pro.bundleID), environment: .production, appAppleID: DemoApp.pro.appAppleID,
            roots: roots, hasTestRootInProduction: true)
    }
}
