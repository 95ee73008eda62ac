import Foundation
import JSON
import Operations
import Records
import Settings
import Topology

/// `bench capacity`.
enum CapacityCommand {
    private static let syntax = CommandSyntax(
        "bench capacity",
        """
        Computes workers, partitions, brokers and disk for a daily volume, from what a record cost \
        when `bench pipeline --json --broker-pid PID` measured it on this machine. A core of \
        another machine is as fast as its OpenSSL: compare `bench verify`. Each figure is \
        arithmetic, and stands in deploy/sizing.md.
        """,
        options: [
            CommandOption("daily", argument: "N", "Raw records a day (required)."),
            CommandOption(
                "costs",
                argument: "FILE",
                "What `bench pipeline --json` has printed (required)."
            ),
            CommandOption("peak", argument: "N", "The busiest minutes, times the average (10)."),
            CommandOption("utilization", argument: "PERCENT", "Of a core at the peak (60)."),
            CommandOption("retention-days", argument: "N", "Of the topics (7)."),
            CommandOption("replication", argument: "N", "Copies of each partition (3)."),
            CommandOption("broker-cores", argument: "N", "Of each broker (4)."),
            CommandOption("new-percent", argument: "N", "Records that bring something new (100)."),
            CommandOption("kafka-bytes", argument: "N", "On disk per record and replica (10000)."),
            CommandOption("database-bytes", argument: "N", "Per record with something new (6000)."),
            .json,
        ]
    )

    static let command = ToolCommand(syntax: syntax) { options, context in
        let console = context.console
        let demand = try demand(options)
        guard let path = options.value("costs") else {
            throw UsageError("--costs: expected a file that `bench pipeline --json` has written")
        }
        guard let report = FileManager.default.contents(atPath: path) else {
            throw CommandError(ExitCode.noInput, "--costs: cannot read \(path)")
        }
        guard let costs = CapacityCosts(report: Array(report)) else {
            throw CommandError(
                ExitCode.data,
                "--costs: \(path) lacks a cost; measure with --json and --broker-pid"
            )
        }
        let plan = CapacityPlan(demand, costs)
        if options.isSet("json") {
            console.print(json: plan.json)
        } else {
            plan.lines(demand).forEach { console.print($0) }
        }
        return ExitCode.success
    }

    private static func demand(_ options: CommandArguments) throws(UsageError) -> CapacityDemand {
        func number(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Double? {
            try BenchOptions.number(options, name, in: range).map(Double.init)
        }
        guard let daily = try number("daily", in: 1...1_000_000_000_000) else {
            throw UsageError("--daily: expected how many raw records come in a day")
        }
        var demand = CapacityDemand(
            recordsPerDay: daily,
            peakFactor: try number("peak", in: 1...1_000) ?? 10
        )
        if let percent = try number("utilization", in: 1...100) {
            demand.utilization = percent / 100
        }
        if let days = try number("retention-days", in: 1...3_650) { demand.retentionDays = days }
        if let copies = try number("replication", in: 1...9) { demand.replication = Int(copies) }
        if let cores = try number("broker-cores", in: 1...1_024) { demand.brokerCores = cores }
        if let percent = try number("new-percent", in: 0...100) { demand.newShare = percent / 100 }
        if let bytes = try number("kafka-bytes", in: 1...100_000_000) {
            demand.kafkaBytesPerRecord = bytes
        }
        if let bytes = try number("database-bytes", in: 1...100_000_000) {
            demand.databaseBytesPerRecord = bytes
        }
        return demand
    }
}

extension CapacityPlan {
    fileprivate func lines(_ demand: CapacityDemand) -> [String] {
        var table = TextTable([
            .init(""), .init("cores at the peak", .right), .init("wanted", .right),
        ])
        for stage in Topology.stages {
            table.add([
                stage.program, FixedPoint.text(workerCores[stage] ?? .nan, digits: 2),
                Quantity.counted(copies[stage] ?? 0, "copy", "copies"),
            ])
        }
        table.add([
            "Kafka", FixedPoint.text(brokerCores, digits: 2),
            "\(Quantity.counted(brokers, "broker")), \(Self.gigabytes(brokerDiskBytes)) each",
        ])
        table.add([
            "PostgreSQL", FixedPoint.text(postgresCores, digits: 2),
            "\(Quantity.grouped(Int((postgresCores / demand.utilization).rounded(.up)))) cores",
        ])
        let rate = Quantity.grouped(Int(demand.peakRecordsPerSecond.rounded(.up)))
        return ["\(rate) records/s at the peak"] + table.lines(indent: 2) + [
            "  \(partitions) partitions of each topic, \(connections) connections to PostgreSQL",
            "  the database grows by \(Self.gigabytes(databaseBytesPerDay)) a day, its archived "
                + "log by \(Self.gigabytes(walBytesPerDay))",
        ]
    }

    private static func gigabytes(_ bytes: Double) -> String {
        let gigabytes = bytes / 1_000_000_000
        guard gigabytes >= 100 else { return "\(FixedPoint.text(gigabytes, digits: 1)) GB" }
        return "\(Quantity.grouped(Int(gigabytes.rounded()))) GB"
    }

    fileprivate var json: JSONContent {
        let perStage = Topology.stages.map { ($0.name, copies[$0].json) }
        return [
            "copies": JSONContent.object(perStage), "partitions": partitions, "brokers": brokers,
            "broker_disk_bytes": Int(brokerDiskBytes), "connections": connections,
            "database_bytes_per_day": Int(databaseBytesPerDay),
            "wal_bytes_per_day": Int(walBytesPerDay),
        ]
    }
}
