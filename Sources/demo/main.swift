import Foundation
import Operations
import Demonstration

exit(await DemoTool.tool.main())
