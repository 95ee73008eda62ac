import AppStore
import AppStoreServer
import Curl
import Holdings
import OpenSSL
import Postgres
import Records
import Settings
import Store
import Topology
package import Worker

extension HealthCondition {
    /// The condition that Apple's server answers, or that another copy does the work.
    package static let apple = HealthCondition("apple")
}

extension WorkerProgram {
    /// The program `recovery-worker`; it publishes only to `raw`, so that everything is verified.
    package static let recovery = WorkerProgram(
        .recovery, summary: "Asks Apple's server for what never arrived.",
        declarations: DatabaseSettings.declarations + RecoverySettings.declarations,
        borrowed: [SharedSettings.apps.declaration], otherSections: SharedSettings.sections, dependency: .database,
        outboxDependency: .apple,
        connections: { await DatabaseCheck.findings($0, of: .recovery, role: .recoveryWorker) },
        problems: { RecoveredApps.problems($0) },
        make: { parts throws(SettingsError) in
            let accesses = try RecoveredApps.accesses(parts.settings)
            let client = parts.databaseClient(.recovery)
            let metrics = RecoveryMetrics(parts.metrics)
            let plan = RecoveryPlan(parts.settings, rawTopic: parts.settings.topic(Topic.raw))
            let apps = accesses.map { access in
                AppRecovery(access: access, client: client, plan: plan, metrics: metrics, log: parts.log)
            }
            return RecoveryStage(
                RecoveryOutbox(
                    apps, finishes: parts.settings[RecoverySettings.finishes], client: client, metrics: metrics),
                client: client)
        })
}

/// The apps that are recovered: those of `apps` with a key.
enum RecoveredApps {
    /// Problems in the combination of several settings.
    static func problems(_ settings: SettingsValues) -> [SettingProblem] {
        do throws(SettingsError) {
            _ = try accesses(settings)
            return []
        } catch { return error.problems }
    }

    static func accesses(_ settings: SettingsValues) throws(SettingsError) -> [APIAccess] {
        var problems: [SettingProblem] = []
        let server = server(settings, &problems)
        var accesses: [APIAccess] = []
        for app in settings[SharedSettings.apps] {
            guard let key = app.api else { continue }
            guard servedEnvironments.contains(app.environment) else {
                problems.append(problem(app, "Apple's server has nothing of this environment"))
                continue
            }
            do { accesses.append(try access(app, key: key, server: server, settings)) } catch let error as KeyError {
                problems.append(problem(app, "\(key.keyFile): \(error)"))
            } catch { problems.append(problem(app, "\(error)")) }
        }
        if accesses.isEmpty, problems.isEmpty {
            problems.append(
                SettingProblem(
                    setting: SharedSettings.apps.declaration.name,
                    message: "expected api_issuer_id, api_key_id and api_key_file in one entry"))
        }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        return accesses
    }

    private static let servedEnvironments = [AppleEnvironment.production.rawValue, AppleEnvironment.sandbox.rawValue]

    private static func access(
        _ setting: AppSetting, key: APIKeySetting, server: LoopbackServer?, _ settings: SettingsValues
    ) throws -> APIAccess {
        let app = RecoveredApp(
            environment: Environment(rawValue: setting.environment), bundleID: Identifier(setting.bundleID))
        var options = HTTPSOptions()
        options.proxy = settings[RecoverySettings.proxy]
        // Enough connections for all kinds, so that a hanging endpoint does not block another.
        options.connectionsMax = SideBySide.itemsMax * RecoveryWork.Kind.allCases.count
        return try APIAccess(app, key, setsAccountTokens: setting.setsAccountTokens, replies: setting.refundReplies) {
            [options] credentials in
            try AppStoreServerAPI(
                credentials, server: server, https: options, limitPercent: settings[RecoverySettings.rateShare])
        }
    }

    private static func server(_ settings: SettingsValues, _ problems: inout [SettingProblem]) -> LoopbackServer? {
        guard let url = settings[RecoverySettings.baseURL] else { return nil }
        do { return try LoopbackServer(url: url, authorityFile: settings[RecoverySettings.caFile]) } catch {
            let name = RecoverySettings.baseURL.declaration.name
            problems.append(SettingProblem(setting: name, message: "\(error)"))
            return nil
        }
    }

    private static func problem(_ app: AppSetting, _ message: String) -> SettingProblem {
        SettingProblem(
            setting: SharedSettings.apps.declaration.name, message: "\(app.bundleID) in \(app.environment): \(message)")
    }
}
