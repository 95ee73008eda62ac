import Benchmarks
import Commands
import Settings

ExitCode.exit(with: await BenchCommand.tool.main())
