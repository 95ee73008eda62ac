import Foundation
import Settings

extension ToolCommand {
    /// `pipeline status`.
    static let status = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) status",
            "Shows what each stage has settled, what waits for it and since when.\n\n"
                + "Read from Kafka alone: the workers are not asked and notice nothing.",
            options: ToolSettings.kafkaOptions
                + [ToolSettings.groupOption, ToolSettings.configOption, ToolSettings.jsonOption]
        ),
        run: { arguments, context in
            let settings = try ToolSettings.read(arguments, context.environment, .kafka)
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            let report = try await StatusReader(settings).read(now: now)
            if arguments.isSet("json") {
                context.console.print(json: report.json)
            } else {
                report.lines.forEach { context.console.print($0) }
            }
            return ExitCode.success
        }
    )
}
