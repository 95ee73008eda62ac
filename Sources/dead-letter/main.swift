import AuditConsole
import DeadLetters
import Settings

ProcessEnd.exit(await DeadLetterTool.tool(adding: ConsoleCommands.all).main())
