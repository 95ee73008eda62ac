import Foundation
import Operations

exit(await PipelineTool.main())
