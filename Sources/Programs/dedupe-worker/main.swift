import DedupeStage
import Settings
import Worker

ExitCode.exit(with: await WorkerProcess.run(.dedupe))
