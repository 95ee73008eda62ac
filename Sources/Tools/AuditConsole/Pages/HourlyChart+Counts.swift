import AppStore
import Postgres
import Store

extension HourlyChart {
    /// The start of the given number of hours, of which the current hour is the last.
    static func start(of hourCount: Int, now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: (now.milliseconds / hourMilliseconds + 1 - Int64(hourCount)) * hourMilliseconds)
    }

    /// Counts the matching letters of the last hours.
    init(_ query: DeadLetterQuery, _ hourCount: Int, now: Timestamp, on database: PostgresClient) async throws {
        var query = query
        let start = Self.start(of: hourCount, now: now)
        query.since = start
        let reasons = try await DeadLetterCounts.counts(by: .reason, query, limit: Self.seriesMax, on: database)
            .compactMap(\.value)
        var all = try await Self.hourly(query, hourCount, on: database)
        var series: [Series] = []
        for reason in reasons {
            var ofReason = query
            ofReason.reasons = [reason]
            let letters = try await Self.hourly(ofReason, hourCount, on: database)
            for (hour, count) in letters { all[hour, default: 0] -= count }
            series.append(Series(reason: reason, letters: letters))
        }
        let rest = all.filter { $0.value > 0 }
        if !rest.isEmpty { series.append(Series(reason: nil, letters: rest)) }
        let first = start.milliseconds
        self.init(hours: (0..<Int64(hourCount)).map { first + $0 * Self.hourMilliseconds }, series: series)
    }

    private static func hourly(_ query: DeadLetterQuery, _ hours: Int, on database: PostgresClient) async throws
        -> [Int64: Int64]
    {
        let counts = try await DeadLetterCounts.counts(by: .hour, query, limit: hours + 1, on: database)
        let pairs = counts.compactMap { count in
            count.value.flatMap { Timestamp(iso8601: $0) }.map { ($0.milliseconds, count.letters) }
        }
        return Dictionary(pairs, uniquingKeysWith: +)
    }
}
