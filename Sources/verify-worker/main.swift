import Foundation
import VerifyStage
import Worker

exit(await WorkerProcess.run(.verify))
