import Benchmarks
import Settings

ExitCode.exit(with: await BenchCommand.tool.main())
