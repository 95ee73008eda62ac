import Foundation
import Settings
import Testing

@testable import AuditConsole

/// The documented table of the console's settings equals the declarations.
@Suite struct ConsoleSettingsTableTests {
    @Test func `the table of the console's settings is true`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "deploy/SETTINGS.md"), encoding: .utf8)
        let table = SettingsSchema(ConsoleSettings.declarations).markdownTable
        #expect(text.contains(table), "the table has to be:\n\(table)")
    }
}
