package import JSON
import Worker

extension Reconciliation {
    /// One object, for tools.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 4_096)
        write(to: &writer)
        return writer.bytes
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("isBalanced", isBalanced)
            writer.member("isSettled", isSettled)
            writer.key("problems")
            writer.strings(problems)
            writer.key("stages")
            writer.array { writer in
                for stage in stages {
                    stage.write(to: &writer)
                }
            }
            writer.key("topics")
            writer.array { writer in
                for flow in flows {
                    flow.write(to: &writer)
                }
            }
        }
    }
}

extension StageAccount {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("stage", stage.name)
            writer.member("group", group)
            writer.member("topic", topic)
            writer.member("settled", settled)
            writer.member("waiting", lag)
            writer.key("dispositions")
            writer.dispositions(counts, of: stage)
            writer.key("partitions")
            writer.array { writer in
                for partition in partitions {
                    partition.write(to: &writer, stage)
                }
            }
        }
    }
}

extension PartitionAccount {
    fileprivate func write(to writer: inout JSONWriter, _ stage: StageDescription) {
        writer.object { writer in
            writer.member("partition", partition)
            writer.member("low", held.lowerBound)
            writer.member("end", held.upperBound)
            writer.key("committed")
            if let committed {
                writer.int(committed)
            } else {
                writer.null()
            }
            writer.member("waiting", lag)
            guard let tally else { return }
            writer.member("began", tally.began)
            writer.member("unaccounted", unaccounted ?? 0)
            writer.key("dispositions")
            writer.dispositions(tally.counts, of: stage)
        }
    }
}

extension Flow {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("topic", topic)
            writer.key("writers")
            writer.strings(writers.map(\.name))
            writer.member("given", given)
            writer.member("counted", counted)
            writer.member("isCountedFromStart", isCountedFromStart)
            guard !exact.isEmpty else { return }
            writer.key("exact")
            writer.array { writer in
                for count in exact {
                    writer.object { writer in
                        writer.member("writer", count.writer.name)
                        writer.member("distinct", count.found)
                        writer.member("repeated", count.repeated)
                        writer.member("beyond", count.beyond)
                        writer.member("removed", count.removed)
                    }
                }
            }
        }
    }
}

extension JSONWriter {
    mutating func dispositions(_ counts: [Disposition: Int64], of stage: StageDescription) {
        object { writer in
            for (disposition, count) in stage.sorted(counts) {
                writer.key(disposition.name)
                writer.int(count)
            }
        }
    }
}
