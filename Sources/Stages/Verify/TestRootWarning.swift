import AppStore
import Worker

/// Says at every start, and shows for ever, that roots of one's own vouch for Production.
enum TestRootWarning {
    static func raise(_ configuration: VerifierConfiguration, _ parts: WorkerProgram.Parts) {
        let gauge = parts.metrics.gauge(
            "verify_test_roots_in_production",
            "Apps for which a root of one's own vouches for Production; 0 unless it is a test."
        )
        let apps = configuration.apps.filter {
            $0.environment == .production && !$0.roots.isEmpty
        }
        gauge.set(apps.count)
        for app in apps {
            parts.log.warning(
                "a root of one's own vouches for Production",
                ["app.bundle_id": .string(app.bundleID)]
            )
        }
    }
}
