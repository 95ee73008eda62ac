import AppStore
import Foundation
import Settings
package import Worker

extension WorkerProgram {
    /// `verify-worker`: what is refused depends on its settings, so it alone has the breaker.
    package static let verify = WorkerProgram(
        .verify,
        summary: "Verifies what Apple signed for the configured apps and passes it on.",
        declarations: VerifySettings.declarations,
        decisive: VerifySettings.declarations.filter {
            $0.name != VerifySettings.threads.declaration.name
                && $0.name != VerifySettings.chainsCachedMax.declaration.name
        },
        hasDatabase: false,
        hasBreaker: true,
        problems: { settings in
            do throws(SettingsError) {
                _ = try VerifierConfiguration(settings)
                return []
            } catch {
                return error.problems
            }
        },
        make: { parts in
            let configuration = try VerifierConfiguration(parts.settings)
            TestRootWarning.raise(configuration, parts)
            return VerifyStage(
                configuration: configuration,
                topic: parts.settings.topic("verified"),
                threadsMax: parts.settings[VerifySettings.threads],
                metrics: VerifyMetrics(parts.metrics) {
                    Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
                }
            )
        }
    )
}
