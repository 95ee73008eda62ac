import Demonstration
import Operations
import Settings

ProcessEnd.exit(await DemoTool.tool.main())
