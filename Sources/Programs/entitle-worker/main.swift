import EntitleStage
import Settings
import Worker

ExitCode.exit(with: await WorkerProcess.run(.entitle))
