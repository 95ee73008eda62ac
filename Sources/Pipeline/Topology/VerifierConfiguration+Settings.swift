package import AppStore
import JSON
import OpenSSL
package import Settings

extension VerifierConfiguration {
    /// Creates the verifier's configuration and reads the root files.
    ///
    /// - Throws: `SettingsError` with the problems of all apps: files that cannot be read or
    ///   contain no certificate, and those found by `VerifierConfiguration.problems(with:)`.
    package init(_ settings: SettingsValues) throws(SettingsError) {
        var problems: [SettingProblem] = []
        let apps = settings[VerifySettings.apps].map { app in ConfiguredApp(app, problems: &problems) }
        if RevocationPolicy(settings)?.isHard == true { problems += apps.flatMap(\.rootsWithoutResponder) }
        problems += Self.problems(with: apps).map { SettingProblem(setting: "apps", message: $0) }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        self.init(apps: apps, limits: VerifierLimits(settings))
    }
}

extension VerifierLimits {
    init(_ settings: SettingsValues) {
        self = .standard
        bodyBytesMax = settings[VerifySettings.bodyBytesMax]
        headerSegmentBytesMax = settings[VerifySettings.headerBytesMax]
        certificateBytesMax = settings[VerifySettings.certificateBytesMax]
        itemsMax = settings[VerifySettings.itemsMax]
        json = JSONLimits(depthMax: settings[VerifySettings.jsonDepthMax])
        payload.depthMax = settings[VerifySettings.payloadDepthMax]
        chainsCachedMax = settings[VerifySettings.chainsCachedMax]
        keyTablesMax = settings[VerifySettings.keyTablesMax]
    }
}

extension ConfiguredApp {
    fileprivate init(_ app: AppSetting, problems: inout [SettingProblem]) {
        var roots: [Certificate] = []
        for path in app.rootFiles {
            do throws(RootFileError) { roots += try RootFile.certificates(at: path) } catch {
                problems.append(SettingProblem(setting: "apps", message: "root file \(path): \(error.message)"))
            }
        }
        self.init(
            bundleID: Identifier(app.bundleID), environment: Environment(rawValue: app.environment),
            appAppleID: app.appAppleID, roots: roots, hasTestRootInProduction: app.isTestRootInProduction)
    }
}

extension ConfiguredApp {
    /// A problem for each root whose records might wait forever, because the root names no responder.
    ///
    /// A root's responder is asked about every certificate below the root that names no responder.
    ///
    /// Certificates exported from Xcode have no issuer, so no responder is asked about them. Of
    /// Apple's roots only the digest is known: a certificate below them without a responder is
    /// accepted, because no responder can answer.
    fileprivate var rootsWithoutResponder: [SettingProblem] {
        guard !isLocal else { return [] }
        return roots.filter(\.plainResponders.isEmpty).map { root in
            SettingProblem(
                setting: VerifySettings.revocation.declaration.name,
                message: "hard, but the root \(root.fingerprint.hex) of app \(bundleID) in "
                    + "\(environment.rawValue) names no OCSP responder at an http address, so that "
                    + "records might wait forever: use soft, or a root that names one")
        }
    }
}
