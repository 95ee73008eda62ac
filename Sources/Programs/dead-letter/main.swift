import AuditConsole
import Commands
import DeadLetters
import IndexStage
import Settings

let commands = ConsoleCommands.all + [IndexCommand.self]
ExitCode.exit(with: await DeadLetterTool.tool(adding: commands).main())
