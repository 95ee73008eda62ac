import AppStore
package import Settings
import Topology

extension ReplayVerifier {
    /// The verifier with the settings that verify-worker reads from the same source.
    ///
    /// - Parameter read: reads the settings of a schema, from the sources of the tool's own settings.
    /// - Throws: `SettingsError` if a setting is invalid; without any apps there is no verifier.
    package init(reading read: (SettingsSchema) throws(SettingsError) -> SettingsValues) throws(SettingsError) {
        let schema = SettingsSchema(VerifySettings.declarations, takesKafkaProperties: false, ignoresUnknown: true)
        do throws(SettingsError) {
            let values = try read(schema)
            self = .settings(try VerifierConfiguration(values), checksRevocation: RevocationPolicy(values) != nil)
        } catch {
            let apps = VerifySettings.apps.declaration
            let isUnset = error.problems.allSatisfy { problem in
                problem.setting == apps.name && problem.message.hasPrefix("required")
            }
            guard isUnset else { throw error }
            self = .unavailable(
                "no apps are configured here; give verify-worker's settings by --config or \(apps.environmentName)")
        }
    }
}
