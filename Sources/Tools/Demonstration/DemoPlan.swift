import Commands
import Operations
import Settings
import Synchronization

/// A catalog with a typing error in a key, and the refusal to apply it.
struct DemoPlan: Sendable {
    let lines: [String]
    /// Whether the catalog was refused, so that nobody lost anything.
    let isRefused: Bool

    private static let catalogFile = "renamed.json"

    /// Applies a copy of the catalog in which the key `pro` is misspelt, as an operator would.
    static func apply(_ catalog: String, folder: DemoFolder, settingsFile: String) async throws -> DemoPlan {
        try folder.write(catalog.replacing("[\"pro\"", with: "[\"prp\"").utf8, to: catalogFile)
        let text = Mutex("")
        let console = Console(
            isInteractive: false, output: { bytes in text.withLock { $0 += String(decoding: bytes, as: UTF8.self) } },
            notes: { line in text.withLock { $0 += line } })
        let arguments = ["catalog", "apply", folder.path(of: catalogFile), "--config", settingsFile]
        let code = await PipelineTool.tool.run(arguments, in: CommandContext(console: console, environment: [:]))
        let lines = text.withLock { $0 }.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return DemoPlan(lines: lines.last == "" ? lines.dropLast() : lines, isRefused: code == ExitCode.negative)
    }

    /// The section of the demo's result.
    var section: [String] {
        ["5. A catalog in which the key pro is misspelt: 'pipeline catalog apply' plans it first", ""]
            + lines.map { $0.isEmpty ? "" : DemoResult.margin + $0 }
    }
}
