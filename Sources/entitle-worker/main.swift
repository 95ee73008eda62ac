import EntitleStage
import Settings
import Worker

ProcessEnd.exit(await WorkerProcess.run(.entitle))
