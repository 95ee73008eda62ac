import DedupeStage
import Foundation
import Worker

exit(await WorkerProcess.run(.dedupe))
