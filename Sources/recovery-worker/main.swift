import RecoveryStage
import Settings
import Worker

ProcessEnd.exit(await WorkerProcess.run(.recovery))
