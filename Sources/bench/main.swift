import Benchmarks
import Settings

ProcessEnd.exit(await BenchCommand.tool.main())
