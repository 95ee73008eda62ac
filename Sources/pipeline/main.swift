import Foundation
import Operations

exit(await PipelineTool.tool.main())
