import LinkStage
import Settings
import Worker

ExitCode.exit(with: await WorkerProcess.run(.link))
