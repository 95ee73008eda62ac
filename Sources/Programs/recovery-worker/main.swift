import RecoveryStage
import Settings
import Worker

ExitCode.exit(with: await WorkerProcess.run(.recovery))
