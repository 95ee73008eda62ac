import Benchmarks
import Settings

ProcessEnd.exit(
    await BenchCommand.run(Array(CommandLine.arguments.dropFirst()), console: .standard)
)
