import DedupeStage
import Settings
import Worker

ProcessEnd.exit(await WorkerProcess.run(.dedupe))
