package import AppStore
import Foundation
import JSON
import OpenSSL
package import Settings

extension VerifierConfiguration {
    /// What the settings say, with the root files read.
    ///
    /// - Throws: `SettingsError` with every problem of every app: a file that cannot be read or
    ///   holds no certificate, and what `VerifierConfiguration.problems(with:)` finds.
    package init(_ settings: SettingsValues) throws(SettingsError) {
        var problems: [SettingProblem] = []
        let apps = settings[VerifySettings.apps].map { app in
            ConfiguredApp(app, problems: &problems)
        }
        problems += Self.problems(with: apps).map { SettingProblem(setting: "apps", message: $0) }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        self.init(apps: apps, limits: VerifierLimits(settings))
    }
}

extension VerifierLimits {
    init(_ settings: SettingsValues) {
        self.init(
            bodyBytesMax: settings[VerifySettings.bodyBytesMax],
            headerSegmentBytesMax: settings[VerifySettings.headerBytesMax],
            certificateBytesMax: settings[VerifySettings.certificateBytesMax],
            itemsMax: settings[VerifySettings.itemsMax],
            json: JSONLimits(depthMax: settings[VerifySettings.jsonDepthMax]),
            payload: JSONLimits(
                depthMax: settings[VerifySettings.payloadDepthMax],
                nodesMax: Self.payloadStandard.nodesMax
            ),
            chainsCachedMax: settings[VerifySettings.chainsCachedMax],
            keyTablesMax: settings[VerifySettings.keyTablesMax]
        )
    }
}

extension ConfiguredApp {
    fileprivate init(_ app: AppSetting, problems: inout [SettingProblem]) {
        var roots: [Certificate] = []
        for path in app.rootFiles {
            do throws(RootFileError) {
                roots += try RootFile.certificates(at: path)
            } catch {
                problems.append(
                    SettingProblem(setting: "apps", message: "root file \(path): \(error.message)")
                )
            }
        }
        self.init(
            bundleID: app.bundleID,
            environment: Environment(rawValue: app.environment),
            appAppleID: app.appAppleID,
            roots: roots,
            hasTestRootInProduction: app.isTestRootInProduction
        )
    }
}
