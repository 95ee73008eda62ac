import Operations
import Settings

ProcessEnd.exit(await PipelineTool.tool.main())
