import Settings
import VerifyStage
import Worker

ExitCode.exit(with: await WorkerProcess.run(.verify))
