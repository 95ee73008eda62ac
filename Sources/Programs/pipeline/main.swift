import Commands
import Operations
import Settings

ExitCode.exit(with: await PipelineTool.tool.main())
