import AuditConsole
import DeadLetters
import Settings

ExitCode.exit(with: await DeadLetterTool.tool(adding: ConsoleCommands.all).main())
