import AppStore
import Platform
import Records
import Settings
import Telemetry
import Topology
package import Worker

extension WorkerProgram {
    /// The program `verify-worker`, the only one with a breaker: with wrong settings it would
    /// refuse genuine records.
    package static let verify = WorkerProgram(
        .verify, summary: "Verifies what Apple signed for the configured apps and passes it on.",
        declarations: VerifySettings.declarations, otherSections: SharedSettings.sections,
        decisive: VerifySettings.decisive, reloadable: VerifySettings.declarations,
        files: { $0[VerifySettings.apps].flatMap(\.rootFiles) }, dependency: .revocation,
        breaker: { settings in
            Breaker.Bounds(
                refusedMax: settings[VerifySettings.breakerRefusedMax],
                armedMax: settings[VerifySettings.breakerArmedMax])
        },
        problems: { settings in
            do throws(SettingsError) {
                _ = try VerifierConfiguration(settings)
                return []
            } catch { return error.problems }
        },
        make: { parts throws(SettingsError) in
            let configuration = try VerifierConfiguration(parts.settings)
            logTestRoots(configuration, parts.log)
            let former = parts.predecessor as? VerifyStage
            let metrics = former?.metrics ?? VerifyMetrics(parts.metrics, now: now)
            return VerifyStage(
                configuration: configuration, topic: parts.settings.topic(Topic.verified),
                threadsMax: parts.settings[VerifySettings.threads],
                bodyOutputBytesMax: parts.settings[VerifySettings.outputBytesMax], metrics: metrics,
                leaves: former?.leaves ?? LeafWatch(parts.metrics, log: parts.log, now: now),
                revocations: RevocationPolicy(parts.settings).map { policy in
                    RevocationLookup(
                        policy, metrics: metrics.revocations, log: parts.log, predecessor: former?.revocations, now: now
                    )
                })
        })

    /// Logs a warning, at every start and reload, about apps whose custom roots are trusted for Production.
    private static func logTestRoots(_ configuration: VerifierConfiguration, _ log: Log) {
        for app in configuration.appsWithTestRootInProduction {
            log.warning("custom root trusted for Production", ["app.bundle_id": .string(app.bundleID.text)])
        }
    }

    private static let now: @Sendable () -> Timestamp = { Timestamp(milliseconds: WallClock.milliseconds) }
}

extension HealthCondition {
    /// The condition that no record waits for the revocation status of its certificates.
    package static let revocation = HealthCondition("revocation")
}
