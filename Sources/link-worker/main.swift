import Foundation
import LinkStage
import Worker

exit(await WorkerProcess.run(.link))
