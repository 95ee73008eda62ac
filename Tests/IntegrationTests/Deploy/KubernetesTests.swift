import Foundation
import TestSupport
import Testing

/// The overlays of `deploy/kubernetes`, rendered by kustomize, are valid and fit the programs.
@Suite(.needsSchemas, .needsBuiltWorkers, .timeLimit(.minutes(10))) struct KubernetesTests {
    private static let folder = "deploy/kubernetes"

    private static func findings(_ overlay: KubernetesOverlay) async throws -> [String] {
        var found = overlay.schemaFindings + overlay.referenceFindings()
        for program in overlay.programs() { found += try await program.findings() }
        found += overlay.securityFindings() + overlay.workerFindings()
        found += try overlay.networkFindings()
        // The small overlay has no KEDA.
        return overlay.all("ScaledObject").isEmpty ? found : found + (try overlay.scalingFindings())
    }

    @Test(arguments: ["trial", "production"]) func `an overlay is valid by the published schemas and fits the programs`(
        name: String
    ) async throws {
        let folder = ReferenceScript.root.appending(path: "\(Self.folder)/overlays/\(name)")
        let overlay = try KubernetesOverlay(folder)
        #expect(overlay.workloads.count == (name == "trial" ? 11 : 12))
        let tasks = overlay.all("CronJob")
        #expect(Set(tasks.map(\.name)) == ["reconcile", "chains", "prune"])
        let alerts = try MonitoringFiles.text("prometheus/alerts.yaml")
        for task in tasks { #expect(alerts.contains(#"cronjob="\#(task.name)""#), "\(task.name)") }
        #expect(overlay.all("ScaledObject").count == (name == "trial" ? 0 : 4))
        let findings = try await Self.findings(overlay)
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
    }

    private struct Fault {
        let file: String
        let text: String
        let other: String
        /// The expected finding.
        let finding: String

        init(_ file: String, _ text: String, _ other: String, _ finding: String) {
            (self.file, self.text, self.other, self.finding) = (file, text, other, finding)
        }
    }

    private static let faults = [
        Fault("base/worker.yaml", "periodSeconds: 2\n", "periodSecond: 2\n", "periodSecond"),
        Fault("base/worker.yaml", "KAFKA_INSTANCE_ID", "KAFKA_INSTANCE", "setting KAFKA_INSTANCE"),
        Fault("base/worker.yaml", "path: /readyz", "path: /ready", "readinessProbe is not /readyz"),
        Fault("base/worker.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "runs as root"),
        Fault("base/jobs.yaml", "--partitions=16", "--partition=16", "no option --partition"),
        Fault("base/network.yaml", "port: console", "port: web", "has no port web"),
        Fault(
            "overlays/production/console.yaml", "https://audit.example.com", "audit.example.com", "console.public_url"),
        Fault("base/link-worker.yaml", "/secrets/database-url", "/secrets/url", "mounted at"),
        Fault(
            "components/autoscaling/link-worker.yaml", "storekit.unique", "storekit.linked",
            "topic is not storekit.unique"),
        Fault(
            "components/autoscaling/scaling.yaml", "stabilizationWindowSeconds: 600", "stabilizationWindowSeconds: 60",
            "goes down too soon"),
        Fault("components/autoscaling/scaling.yaml", "/spec/pollingInterval", "/spec/pollInterval", "unknown members"),
    ]

    /// All in one copy, as each takes a rendering and the answers of eight programs.
    @Test func `faults are found`() async throws {
        let copy = try Manifests.copy(of: Self.folder)
        defer { try? FileManager.default.removeItem(at: copy) }
        for fault in Self.faults {
            try Manifests.replace(fault.text, fault.other, in: copy.appending(path: fault.file))
        }
        let overlay = try KubernetesOverlay(copy.appending(path: "overlays/production"))
        let findings = try await Self.findings(overlay)
        for fault in Self.faults {
            let isFound = findings.contains { $0.contains(fault.finding) }
            #expect(isFound, "\(fault.other) in \(fault.file): \(findings)")
        }
    }
}
