import Commands
import Demonstration
import Settings

ExitCode.exit(with: await DemoTool.tool.main())
