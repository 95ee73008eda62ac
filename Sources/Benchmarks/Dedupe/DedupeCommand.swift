import Operations
import Settings
import Topology
import Worker

/// `bench dedupe`.
enum DedupeCommand {
    static func run(_ arguments: some Sequence<String>, console: Console) async throws -> Int32 {
        let parsed = try DedupeOptions.syntax.parse(arguments)
        guard !parsed.isHelpWanted else {
            console.print(text: DedupeOptions.syntax.help)
            return ExitCode.success
        }
        let options = try DedupeOptions(parsed)
        let rig = try await PipelineRig.build(
            bootstrap: options.kafka,
            PipelineOptions.Setup(partitions: options.partitions, storedCount: 0),
            stages: [.dedupe],
            console: console
        )
        let measurement: DedupeMeasurement
        do {
            measurement = try await DedupeBenchmark(rig: rig, options: options, console: console)
                .run()
        } catch {
            await rig.remove()
            throw error
        }
        await rig.remove()
        if options.isJSON {
            console.print(json: measurement.json)
        } else {
            measurement.lines.forEach { console.print($0) }
        }
        return ExitCode.success
    }
}
