import Benchmarks
import Operations
import Settings

ProcessEnd.exit(await BenchCommand.tool.main())
