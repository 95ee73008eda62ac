import Testing

@testable import Worker

@Suite struct TimeAccountTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test func `each moment counts once, for what the next batch waits for`() {
        let account = TimeAccount(now: start)
        account.begin(.acknowledgement, now: at(1))
        account.begin(.process, now: at(3))
        account.begin(.database, now: at(4))
        account.begin(.database, now: at(5))
        account.end(.database, now: at(6))
        account.end(.database, now: at(9))
        account.end(.process, now: at(10))
        account.begin(.commit, now: at(12))
        account.end(.acknowledgement, now: at(13))
        account.end(.commit, now: at(14))
        #expect(
            account.seconds(now: at(20)) == [
                .poll: 7, .acknowledgement: 5, .process: 2, .database: 5, .commit: 1, .retry: 0,
            ])
    }

    @Test func `the seconds of all activities add up to the time that passed`() async {
        let account = TimeAccount(now: start)
        await withTaskGroup { group in
            for activity in TimeAccount.Activity.allCases {
                group.addTask {
                    for _ in 0..<500 {
                        account.begin(activity)
                        await Task.yield()
                        account.end(activity)
                    }
                }
            }
        }
        let now = ContinuousClock.now
        let sum = account.seconds(now: now).values.reduce(0, +)
        #expect(abs(sum - (now - start) / .seconds(1)) < 0.000_001)
    }

    @Test func `calls of the database count only where a batch makes them`() async throws {
        let account = TimeAccount()
        TimeAccount.databaseWait(hasBegun: true)
        TimeAccount.databaseWait(hasBegun: false)
        #expect(account.seconds()[.database] == 0)
        try await account.measureBatch {
            await withTaskGroup { group in
                group.addTask {
                    TimeAccount.databaseWait(hasBegun: true)
                    await Task.yield()
                    TimeAccount.databaseWait(hasBegun: false)
                }
            }
        }
        #expect(account.seconds()[.database] ?? 0 > 0)
    }
}
