import AppStore
import JSON
import Records
import Store

/// Replays as JSON, for other programs.
enum ReplayJSON {
    /// The dry run, with a maximum of letters.
    static func plan(_ plan: ReplayPlan, shown limit: Int) -> [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.object { writer in
            DeadLetterJSON.member([("filter", plan.selection.text), ("note", plan.note)], &writer)
            numbers(
                [
                    ("letters", Int64(plan.count)), ("on_no_chain", Int64(plan.onNoChainCount)),
                    ("differ_from_source", Int64(plan.differingCount)),
                ],
                &writer
            )
            DeadLetterJSON.member(
                [("oldest", plan.oldest?.description), ("newest", plan.newest?.description)],
                &writer
            )
            let groups = [
                ("topics", plan.topics), ("reasons", plan.reasons), ("verdicts", plan.verdicts),
                ("left_out", plan.skippedCounts),
            ]
            for (name, counts) in groups {
                writer.key(name)
                writer.object { writer in
                    numbers(
                        counts.sorted { $0.key < $1.key }.map { ($0.key, Int64($0.value)) },
                        &writer
                    )
                }
            }
            writer.key("letters_shown")
            writer.array { writer in
                for letter in plan.letters.prefix(limit) {
                    writer.object { writer in
                        DeadLetterJSON.member(
                            [
                                ("id", letter.row.id), ("reason", letter.row.reason),
                                ("source", letter.row.source.position.description),
                                ("verdict", letter.verdict.name),
                                ("detail", letter.verdict.detail),
                            ],
                            &writer
                        )
                    }
                }
            }
            writer.key("left_out_shown")
            writer.array { writer in
                for letter in plan.skipped.prefix(limit) {
                    writer.object { writer in
                        DeadLetterJSON.member(
                            [
                                ("id", letter.id), ("why", letter.why.name),
                                ("detail", letter.why.detail),
                            ],
                            &writer
                        )
                    }
                }
            }
        }
        return writer.bytes
    }

    static func progress(_ progress: ReplayProgress) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            numbers([("replay", progress.number), ("letters", Int64(progress.count))], &writer)
            DeadLetterJSON.member(
                [("state", progress.state.rawValue), ("note", progress.note)],
                &writer
            )
            write(progress.counts, &writer)
        }
        return writer.bytes
    }

    /// One replay, with its records if requested.
    static func replay(_ row: ReplayRow, _ records: [ReplayRecordRow]? = nil) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            numbers([("replay", row.number), ("letters", row.count)], &writer)
            DeadLetterJSON.member(
                [
                    ("state", row.effectiveState.rawValue), ("who", row.who), ("why", row.why),
                    ("filter", row.filter), ("begun_at", row.begunAt.text),
                    ("ended_at", row.endedAt?.text), ("note", row.note),
                ],
                &writer
            )
            numbers([("rate", row.rate)], &writer)
            writer.key("failing_share_max")
            writer.double(row.failingShareMax)
            write(row.counts, &writer)
            guard let records else { return }
            writer.key("records")
            writer.array { writer in
                for record in records {
                    writer.object { write(record, &$0) }
                }
            }
        }
        return writer.bytes
    }

    private static func write(_ record: ReplayRecordRow, _ writer: inout JSONWriter) {
        DeadLetterJSON.member(
            [
                ("dead_letter_id", record.letterID), ("sent_to", record.sentText),
                ("sent_at", record.sentAt?.text), ("outcome", record.outcome?.rawValue),
                ("reason", record.outcomeReason), ("refused_as", record.refusedAs),
                ("outcome_at", record.outcomeAt?.text),
            ],
            &writer
        )
    }

    private static func write(_ counts: ReplayCounts, _ writer: inout JSONWriter) {
        numbers(
            [
                ("sent", counts.sent), ("accepted", counts.accepted),
                ("refused", counts.refused), ("unsent", counts.unsent),
                ("unknown", counts.unknown),
            ],
            &writer
        )
    }

    private static func numbers(_ members: [(String, Int64)], _ writer: inout JSONWriter) {
        for (name, number) in members {
            writer.key(name)
            writer.int(number)
        }
    }
}

extension StoredTime {
    var text: String { Timestamp(milliseconds: milliseconds).description }
}
