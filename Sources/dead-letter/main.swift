import AppStore
import AuditConsole
import DeadLetters
import Foundation
import Settings

ProcessEnd.exit(
    await DeadLetterTool.run(
        Array(CommandLine.arguments.dropFirst()),
        environment: ProcessInfo.processInfo.environment,
        now: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)),
        adding: ConsoleCommands.all
    )
)
