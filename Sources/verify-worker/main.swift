import Settings
import VerifyStage
import Worker

ProcessEnd.exit(await WorkerProcess.run(.verify))
