import Demonstration
import Settings

ProcessEnd.exit(await DemoTool.tool.main())
