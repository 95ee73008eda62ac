import Foundation
import TestSupport
import Testing

/// `deploy/grafana/dashboard.json`, by the schema that Grafana publishes.
@Suite(.needsSchemas) struct DashboardTests {
    @Test func `the dashboard fits Grafana's published schema, and a wrong member is found`() throws {
        let folder = MonitoringFiles.deploy.appending(path: "grafana")
        let wrong = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: wrong) }
        try MonitoringFiles.text("grafana/dashboard.json").replacing(
            "\"targets\"", with: "\"target\"", maxReplacements: 1
        ).write(to: wrong, atomically: true, encoding: .utf8)
        for (file, status) in [(folder.appending(path: "dashboard.json"), 0), (wrong, 1)] {
            let run = try ProgramRun(folder.appending(path: "check.sh").path, [file.path])
            #expect(run.status == status, "\(run.text)")
            #expect(run.text.contains(status == 0 ? "panels fit" : "target is no member"))
        }
    }
}
