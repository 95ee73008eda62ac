import LinkStage
import Settings
import Worker

ProcessEnd.exit(await WorkerProcess.run(.link))
