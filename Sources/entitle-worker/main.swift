import EntitleStage
import Foundation
import Worker

exit(await WorkerProcess.run(.entitle))
