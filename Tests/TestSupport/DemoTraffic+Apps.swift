package import AppStore
import OpenSSL
package import Simulation

extension DemoTraffic {
    /// The apps as the settings of the traffic's pipeline have them.
    package func configuredApps() throws -> [ConfiguredApp] {
        let roots = try roots.map { try Certificate(der: $0) }
        return apps.map { app in
            ConfiguredApp(
                bundleID: Identifier(app.bundleID),
                environment: Environment(rawValue: app.environment),
                appAppleID: app.appAppleID,
                roots: roots,
                hasTestRootInProduction: true
            )
        }
    }
}
