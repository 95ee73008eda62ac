import Foundation
import TestSupport
import Testing

/// Output and exit code of `deploy/alerts.sh`.
struct AlertReportTests {
    private static func outcome(
        _ alert: String, fired: Duration? = .seconds(3), cleared: Duration? = .seconds(11), trouble: String? = nil
    ) -> AlertOutcome {
        var outcome = AlertOutcome(alert, fault: "a fault")
        outcome.firedAfter = fired
        outcome.clearedAfter = cleared
        outcome.trouble = trouble
        return outcome
    }

    @Test func `each alert is reported with its outcome, and only firing and clearing count`() {
        let report = AlertReport(
            outcomes: [
                Self.outcome("A"), Self.outcome("B", fired: nil), Self.outcome("C", cleared: nil),
                Self.outcome("D", trouble: "the broker did not stop"), Self.outcome("E"), Self.outcome("E", fired: nil),
            ], alerts: ["A", "B", "C", "D", "E", "F"])
        #expect(
            report.lines(after: .seconds(99)) == [
                "A: fired after 3 s, cleared 11 s after it was mended (a fault)", "B: did NOT fire (a fault)",
                "C: fired after 3 s, did NOT clear (a fault)", "D: NOT shown: the broker did not stop (a fault)",
                "E: fired after 3 s, cleared 11 s after it was mended (a fault)", "E: did NOT fire (a fault)",
                "F: NOT tried, no fault is made for it",
                "1 of 6 alerts fired by their faults and cleared after, in 99 s",
            ])
        #expect(!report.isSound)
        #expect(AlertReport(outcomes: [Self.outcome("A")], alerts: ["A"]).isSound)
    }

    @Test func `each alert has a fault`() throws {
        let alerts = Set(try MonitoringFiles.alerts())
        let made = AlertFault.all.reduce(into: Set<String>()) { $0.formUnion($1.alerts) }
        #expect(made == alerts)
    }

    @Test(arguments: [
        ("A: fired\n1 of 1 alerts fired", 0, 0), ("A: fired\n1 of 1 alerts fired", 1, 1),
        ("A: did NOT fire\n0 of 1 alerts fired", 0, 1), ("", 0, 70),
    ]) func `the script prints the report, and ends well only if all of it is good`(
        report: String, status: Int, expected: Int32
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let deploy = folder.appending(path: "deploy")
        try FileManager.default.createDirectory(at: deploy, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: MonitoringFiles.deploy.appending(path: "alerts.sh"), to: deploy.appending(path: "alerts.sh"))
        // Replaces the tests: writes their report, and ends like them.
        let tests = deploy.appending(path: "test.sh")
        try "#!/bin/sh\nprintf '\(report)' >\"$ALERTS_END_TO_END\"\nexit \(status)\n".write(
            to: tests, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tests.path)
        let run = try ProgramRun(deploy.appending(path: "alerts.sh").path, takesErrors: false)
        #expect(run.status == expected)
        #expect(run.text.hasSuffix(report))
    }
}
