import Worker

/// What one run of `bench pipeline` found.
struct PipelineMeasurement {
    let setup: PipelineOptions.Setup
    let recordCount: Int
    let recordsPerSecond: Double
    /// Processor time per record, in microseconds.
    let workerMicroseconds: [StageDescription: Double]
    let brokerMicroseconds: Double?
    let postgresMicroseconds: Double?
    /// The most that was ever resident, in bytes.
    let residentBytesMax: [StageDescription: Int]
    let latency: Latency?

    /// From publishing to commit, in milliseconds.
    struct Latency {
        let recordsPerSecond: Double
        let p50: Double
        let p99: Double
        /// From publishing to the topic that a stage reads, by that stage, sorted.
        let hops: [StageDescription: [Double]]
    }

    var allWorkersMicroseconds: Double {
        workerMicroseconds.values.reduce(0, +)
    }
}
